"""qcompile beside its peers, same inputs, same run: ``python -m benchmarks.peers``."""
