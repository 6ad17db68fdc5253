"""Searches side by side on problems that others chose: time to the optimum with 99% probability."""
