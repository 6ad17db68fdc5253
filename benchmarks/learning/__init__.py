"""How good the trained classifiers are: many sets, clean and damaged rows, many methods."""
