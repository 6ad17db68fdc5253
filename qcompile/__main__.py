"""Lets ``python -m qcompile`` do what ``qcompile`` does."""

import sys

from qcompile.cli.app import main

sys.exit(main())
