"""What predictions say, as plain data. Times are in seconds, sizes in bytes; what is not known is None."""

import dataclasses
from typing import Optional, Tuple


@dataclasses.dataclass(frozen=True)
class Interval:
    """95 percent."""
    low: float
    high: float


@dataclasses.dataclass(frozen=True)
class Term:
    """An addend of a price: `count` times the machine file's parameter `key`."""
    stage: str
    key: str
    count: float
    seconds: float
    value: Optional[float]  # None: the machine file has none, and the term is not priced
    file: Optional[str]
    line: Optional[int]


@dataclasses.dataclass(frozen=True)
class Prediction:
    """A strategy at one point of a sweep. If it does not apply, `reason` says why, and there is no time."""
    strategy: str
    at: int  # the swept value: bytes, unless nodes or messages are swept
    seconds: Optional[float]
    reason: Optional[str] = None
    interval: Optional[Interval] = None
    algorithm: Optional[str] = None
    chunks: int = 0
    staged: Tuple[int, int] = (0, 0)  # members whose input is staged, and whose result is
    library_unknown: bool = False  # the price takes an MPI library for perfect that nothing describes
    extrapolated_doublings: float = 0.0  # beyond what was measured
    joules: Optional[float] = None
    terms: Tuple[Term, ...] = ()

    @property
    def applicable(self):
        return self.seconds is not None


@dataclasses.dataclass(frozen=True)
class Range:
    """Points of a sweep, [start, below), with the same cheapest strategy. `below` is None behind the last one."""
    start: int
    below: Optional[int]
    strategy: Optional[str]  # None: none applies
    tied: Tuple[str, ...]  # others that cost the same
    runner_up: Optional[str]
    margin: Tuple[float, float]  # of the runner-up: least and most, as shares
    near_tie: bool  # at some point another strategy costs about as much
    overlap: bool  # at some point another costs more, but the intervals do not tell the two apart
    regret: float  # expected, as a share: the most over the points
    settle: Optional[str]  # of such a point: the parameter whose measurement would settle it; None: measure the strategies
    unpriced: Optional[str]  # the key of a missing parameter that makes the pick uncertain


@dataclasses.dataclass(frozen=True)
class Call:
    """A call of a step, or computation, which has no strategy."""
    name: str
    times: int
    compute_s: float
    prediction: Optional[Prediction]  # of one call, by the strategy that the cheapest mix takes


@dataclasses.dataclass(frozen=True)
class Route:
    """A step in which all calls take one strategy; None: the cheapest mix."""
    strategy: Optional[str]
    seconds: float
    communication_s: float
    exposed_s: float
    interval: Optional[Interval]  # of `seconds`


@dataclasses.dataclass(frozen=True)
class Step:
    compute_s: float
    mix: Route
    routes: Tuple[Route, ...]
    calls: Tuple[Call, ...]


@dataclasses.dataclass(frozen=True)
class Fitted:
    """A fitted parameter set. What was not fitted has a `note` that says why."""
    name: str
    alpha_s: Optional[float]
    alpha_interval: Optional[Interval]
    beta_s_per_byte: Optional[float]
    beta_interval: Optional[Interval]
    samples: int
    residual: float
    note: Optional[str]
