"""objective."""
