"""How work is run: memory, threads, compiled kernels, progress, timing, clusters.

Belongs here: what every pass may need while it runs. Progress, the cluster's client, the limit of
cores and the running passes are context variables, which hold inside a `with` block.
Does not belong here: anything that knows a stage of the compiler.
"""
