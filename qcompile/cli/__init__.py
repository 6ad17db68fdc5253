"""The command line: one module a group of commands.

Belongs here: options, help, tables, exit codes, hints.
Does not belong here: arithmetic, and anything that a Python program would want too.
"""

from qcompile.cli.app import main

__all__ = ["main"]
