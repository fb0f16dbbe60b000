"""The model families. Torch lives here; each module holds one family and its initialisations."""
