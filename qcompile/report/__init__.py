"""A run -> one HTML page, and pictures.

Belongs here: collecting the artifacts of a run, the figures made from them, and their drawing.
Does not belong here: the numbers that a stage can answer itself.
"""
