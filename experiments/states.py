"""States of a point on a modelled machine: some points are bistable, so that seeds end in one of two states.

Lock elision is one case: once enough threads take the lock, all others abort, and they stay in that state. A median over both states
would be a number that no run has. So the figure shows each state, with the share of seeds that ended in it.
"""
import statistics
from dataclasses import dataclass

APART = 1.5   # least ratio between the two neighbours that part the seeds of a point


@dataclass(frozen=True)
class State:
    y: float      # the median of its seeds
    seeds: int


def states_of(ys):
    """Returns the states of a point from the lowest to the highest: one, or two if the widest ratio between neighbours parts them."""
    ordered = sorted(ys)
    ratios = [(high / low, at) for at, (low, high) in enumerate(zip(ordered, ordered[1:], strict=False), 1) if low > 0]
    widest, at = max(ratios, default=(1, 0))
    parts = [ordered[:at], ordered[at:]] if widest >= APART else [ordered]
    return [State(statistics.median(part), len(part)) for part in parts]


def words(states):
    """Returns a point in two states as text: "3 of 5 seeds at 10.2, 2 of 5 at 30.1"."""
    seeds = sum(state.seeds for state in states)
    first, *rest = [f"{state.seeds} of {seeds}{{}} at {state.y:.4g}" for state in states]
    return ", ".join([first.format(" seeds"), *(each.format("") for each in rest)])


def lines(rows, panel):
    """Returns a line for the points of a panel that are in two states; none if there are none. `rows` has the numbers of the panel."""
    said = []
    for curve in panel.curves:
        for x in panel.x:
            states = states_of([row["y"] for row in rows if (row["curve"], row["x"]) == (curve.name, x)] or [0])
            if len(states) > 1:
                said.append(f"{curve.name} at {x}: {words(states)}")
    return [f"in two states: {'; '.join(said)}"] if said else []
