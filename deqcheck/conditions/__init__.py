"""Hypotheses at enclosures: verdicts, margins, and the constants that a theorem leaves open."""
