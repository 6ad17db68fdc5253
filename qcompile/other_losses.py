"""0-1 loss and q-loss under the module name of earlier versions; import them from `qcompile`."""

from qcompile.stages.loss import QLoss, ZeroOneLoss

__all__ = ["QLoss", "ZeroOneLoss"]
