"""From a model and data to an equilibrium that is proved to lie within a stated distance."""
