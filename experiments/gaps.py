"""Gaps of a figure: the points that have no number, and why. The figure says so itself, below the title of the panel.

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
    """True if no other run of the same point would give a number either. In an open loop a failure may be chance."""
    if document["status"] == "skipped":
        return True
    return document["status"] == "degraded" and not document.get("slo") and not document.get("offer")


def why_none(document):
    """The reason why the run has no number, whatever is drawn, in the same words for all such runs; None where it may have one."""
    if (document.get("slo") or {}).get("answer") == "none-keeps":
        return "not even the lowest rate that was tried keeps the bound"
    return None if document["status"] in ("ok", "noisy") else document["reason"]


def place(gaps, replicates):
    """As text: "4", "4 in 2 of 3 runs". `gaps`: all of one reason at one point."""
    of = len({gap.replicate for gap in gaps})
    runs = "" if gaps[0].replicate is None or of == replicates else f" in {of} of {replicates} runs"
    return f"{gaps[0].x}{runs}"


def lines(gaps, experiment, number):
    """A line for each reason why something is missing from the panel."""
    panel = experiment.panels[number]
    names = [curve.name for curve in panel.curves]
    by_reason = {}
    for gap in sorted((g for g in gaps if g.panel == number), key=lambda g: (names.index(g.curve), panel.x.index(g.x))):
        by_reason.setdefault(gap.reason, {}).setdefault(gap.curve, {}).setdefault(gap.x, []).append(gap)
    own = {name: [p.x for p in experiment.points if (p.panel, p.curve) == (number, name)] for name in names}
    out = []
    for reason, curves in by_reason.items():
        at = {curve: [place(gaps, experiment.replicates) for gaps in points.values()] for curve, points in curves.items()}
        places = list(at.values())
        if len(at) == len(names) > 1 and all(p == places[0] for p in places) and places[0] != [str(x) for x in own[names[0]]]:
            said = [f"all at {', '.join(places[0])}"]
        else:
            said = [c if p == [str(x) for x in own[c]] else f"{c} at {', '.join(p)}" for c, p in at.items()]
        out.append(f"left out: {'; '.join(said)}: {reason}")
    return out


def noise(rows, metric=""):
    """A line where others had the processors of some runs, and one where points vary too much from run to run for a look to tell
    them apart. `rows`: of one panel, which draws `metric`."""
    crowded = sum(row["noisy"] for row in rows)
    lines = [f"noisy: in {crowded} of {len(rows)} runs others had a thread's processor"] if crowded else []
    by_point = {}
    for row in rows:
        by_point.setdefault((row["curve"], row["x"]), []).append(row["y"])
    zero = -100 if metric == "gain" else 0   # nothing a second
    wide = [ys for ys in by_point.values() if max(ys) - zero > NOISY * (min(ys) - zero)]
    if wide:
        lines.append(f"too noisy: {len(wide)} of {len(by_point)} points vary more than {NOISY}-fold from run to run")
    return lines
