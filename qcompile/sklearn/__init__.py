"""The scikit-learn face: a classifier for pipelines and grid searches.

Belongs here: what scikit-learn asks of an estimator. Does not belong here: trainings themselves.
"""

from qcompile.sklearn.classifier import PolynomialLossClassifier

__all__ = ["PolynomialLossClassifier"]
