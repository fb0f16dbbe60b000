"""Gradient descent and gradient flow with the conclusions of a theorem watched along the way."""

from deqcheck.trajectory.run import Plan, Show, follow, silent
from deqcheck.trajectory.value import Fit, Line, Mark, Trajectory, document

__all__ = ["Fit", "Line", "Mark", "Plan", "Show", "Trajectory", "document", "follow", "silent"]
