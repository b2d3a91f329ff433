"""What a figure has no number of, and why: it says so itself, below the title of the panel.

A run may have none because this machine cannot really do it (`degraded`), because it does not fit (`skipped`), because it failed,
or because there was nothing to find, such as a rate that keeps a bound.
"""
from dataclasses import dataclass

NOISY = 1.5   # the most over the least


class NoNumber(Exception):
    """Raised by a metric: why this document has none."""


@dataclass(frozen=True)
class Gap:
    """A run, or with no replicate all of a point."""

    panel: int
    curve: str
    x: object
    replicate: int | None
    reason: str


def of_all(document):
    """Whether every other run of the same point would come to nothing, too. In an open loop that may be chance."""
    if document["status"] == "skipped":
        return True
    return document["status"] == "degraded" and not document.get("slo") and not document.get("offer")


def place(gap, replicates):
    """As text: "olc at 4", "olc at 4 in 2 of 3 runs". `gap` stands for all with its reason at this point."""
    of = len({g.replicate for g in gap})
    runs = "" if gap[0].replicate is None or of == replicates else f" in {of} of {replicates} runs"
    return f"{gap[0].x}{runs}"


def lines(gaps, experiment, number):
    """A line for each reason why something is missing from the panel."""
    panel = experiment.panels[number]
    names = [curve.name for curve in panel.curves]
    by_reason = {}
    for gap in sorted((g for g in gaps if g.panel == number), key=lambda g: (names.index(g.curve), panel.x.index(g.x))):
        by_reason.setdefault(gap.reason, {}).setdefault(gap.curve, {}).setdefault(gap.x, []).append(gap)
    out = []
    for reason, curves in by_reason.items():
        said = []
        for curve, points in curves.items():
            places = [place(gap, experiment.replicates) for gap in points.values()]
            own = [point.x for point in experiment.points if (point.panel, point.curve) == (number, curve)]
            whole = places == [str(x) for x in own]
            said.append(curve if whole else f"{curve} at {', '.join(places)}")
        out.append(f"left out: {'; '.join(said)}: {reason}")
    return out


def noise(rows):
    """A line where points vary too much from run to run for a look to tell them apart. `rows`: of one panel."""
    by_point = {}
    for row in rows:
        by_point.setdefault((row["curve"], row["x"]), []).append(row["y"])
    wide = [ys for ys in by_point.values() if max(ys) > NOISY * min(ys)]
    return [f"too noisy: {len(wide)} of {len(by_point)} points vary more than {NOISY}-fold from run to run"] if wide else []
