"""Gaps of a figure: the points that have no number, and why. The figure says so itself, below the title of the panel.

A run has no number for one of four reasons:
    degraded    this machine cannot do what the run asks for, such as hardware transactions
    skipped     the run does not fit the machine
    failed      the run ended with an error
    none        the run had nothing to find, such as a rate that keeps a bound
"""
from dataclasses import dataclass

NOISY = 1.5   # ratio of the greatest to the least number of a point, above which the point is noisy


class NoNumber(Exception):
    """Raised by a metric for a document without its number; the message is the reason."""


@dataclass(frozen=True)
class Gap:
    """A missing run. Without a replicate, all runs of the point are missing."""

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
    return None if document["status"] in ("ok", "modelled", "noisy") else document["reason"]


def place(gaps, replicates):
    """Returns a point as text: "4", or "4 in 2 of 3 runs". `gaps` has all gaps of one reason at this point."""
    of = len({gap.replicate for gap in gaps})
    runs = "" if gaps[0].replicate is None or of == replicates else f" in {of} of {replicates} runs"
    return f"{gaps[0].x}{runs}"


def lines(gaps, experiment, number):
    """Returns one line for each reason why something is missing from the panel."""
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
    """Returns up to two lines. One counts the runs that other programs disturbed. The other counts the points that vary too much from
    run to run to be compared by eye. `rows` has the numbers of one panel, which draws `metric`."""
    runs = {row["run"]: row["noisy"] for row in rows}
    crowded = sum(runs.values())
    lines = [f"noisy: other programs disturbed {crowded} of {len(runs)} runs"] if crowded else []
    by_point = {}
    for row in rows:
        by_point.setdefault((row["curve"], row["x"]), []).append(row["y"])
    zero = -100 if metric == "gain" else 0   # a gain of -100 % is a throughput of 0
    wide = [ys for ys in by_point.values() if max(ys) - zero > NOISY * (min(ys) - zero)]
    if wide:
        lines.append(f"too noisy: {len(wide)} of {len(by_point)} points vary more than {NOISY}-fold from run to run")
    return lines
