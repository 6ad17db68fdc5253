"""How work is run: memory, threads, compiled kernels, progress, timing, clusters.

Belongs here: whatever any pass may need while it runs, whatever it computes.
Does not belong here: anything that knows a stage of the compiler.
"""
