"""The statements, one file per paper result. Installed as ``deqcheck.theorems``."""
