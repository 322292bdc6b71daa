"""portolan: what moving bytes costs on a GPU cluster, which collective's route is the cheapest, and by how much.

Everything is computed by libportolan.so; docs/python.md has examples."""

from ._declarations import VERSION as __version__
from ._library import Error, LibraryError
from ._machine import Group, Machine, estimate, estimated_strategy, fit
from ._results import Call, Fitted, Interval, Prediction, Range, Route, Step, Term

__all__ = ["Call", "Error", "Fitted", "Group", "Interval", "LibraryError", "Machine", "Prediction", "Range", "Route", "Step", "Term",
           "estimate", "estimated_strategy", "fit"]
