"""Lets ``python -m qcompile`` do what ``qcompile`` does."""

import sys

from qcompile.cli import main

sys.exit(main())
