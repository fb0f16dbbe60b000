"""deqcheck: does a published convergence theorem really apply to this equilibrium network?"""

__version__ = "0.1.0"
