"""The command line."""

from qcompile.cli.app import main

__all__ = ["main"]
