"""Every file format, reading and writing.

Belongs here: formats of stages, atomic writing, reading of files that may be hostile.
Does not belong here: svmlight text (see `data`), job folders (see `leap`), pages (see `report`).
"""
