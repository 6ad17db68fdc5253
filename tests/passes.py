"""The line that tells of a pass (-v)."""

from __future__ import annotations

import re

PASS = re.compile(r"pass (.+): (\d+\.\d{3}) s, peak memory ([\d.,]+) ([kMG]B)$")
