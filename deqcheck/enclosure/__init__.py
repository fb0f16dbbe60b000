"""Certified numbers: the only package that imports flint."""

from deqcheck.enclosure.interval import Enclosure, Real

__all__ = ["Enclosure", "Real"]
