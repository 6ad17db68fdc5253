"""The paper's tables and figures, each from one command: ``python -m benchmarks.paper figure4``."""
