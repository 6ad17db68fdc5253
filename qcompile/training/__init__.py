"""The whole way from rows to a classifier, and the choice of its settings.

Belongs here: `train`, cross-validation, and what they report.
Does not belong here: single passes.
"""
