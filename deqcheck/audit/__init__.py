"""Inspection of the theorems themselves: are the steps of a proof true, and can its hypotheses hold?"""
