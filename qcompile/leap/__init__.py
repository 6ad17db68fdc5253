"""leap."""
