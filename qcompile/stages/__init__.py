"""The stages of the compiler: frozen records, one a module, and their algebra.

Belongs here: what a stage is, what it can answer about itself, and sums of terms.
Does not belong here: passes from one stage to the next, and file formats.
"""
