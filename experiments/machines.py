"""What the machines of a sweep were. Names of nodes are not machines: two nodes with one boot_id run on one kernel.

Runs of two such nodes that overlap in time disturbed each other, so they become noisy. Several machines of a kind may differ although
their names and features are equal: the effect of each is its ratio to the others over the same points.
"""
import math
import statistics
import sys
from dataclasses import dataclass

MISSES = .05   # greatest probability that one of the intervals of a kind does not hold its median ratio


def boot_of(document):
    return (document.get("machine") or {}).get("boot_id")


def mark_shared(results):
    """Marks the runs of nodes that were one machine at the same time as noisy, in the files too. `results` has the Results of each kind.
    Returns how many are noisy for that. Raises OSError."""
    runs = [
        (run["began"], run["ended"], run["node"], boot_of(of.known[made]), kind, made)
        for kind, of in results.items()
        for made, run in of.runs.items()
        if run.keys() >= {"node", "began", "ended"} and boot_of(of.known[made]) is not None
    ]
    runs.sort(key=lambda run: run[:2])
    going, shared = [], {}   # the runs that have not ended when the next one begins; (kind, made) -> the node that ran beside it
    for run in runs:
        began, _, node, boot, *_ = run
        going = [other for other in going if other[1] > began]
        for other in going:
            if other[3] == boot and other[2] != node:
                shared.setdefault((run[4], run[5]), other[2])
                shared.setdefault((other[4], other[5]), node)
        going.append(run)
    for kind, of in results.items():
        changed = False
        for made, document in of.known.items():
            if (kind, made) in shared:
                changed |= disturb(document, f"node {shared[kind, made]} is this machine too (one boot_id), and ran at the same time")
        if changed:
            of.rewrite()
    return len(shared)


def disturb(document, why):
    """Makes a document noisy for this reason. Returns true if that changed it."""
    if document["status"] not in ("ok", "noisy") or why in document["reason"]:
        return False
    document["status"] = "noisy"
    document["reason"] = "; ".join(reason for reason in (document["reason"], why) if reason)
    return True


@dataclass(frozen=True)
class Effect:
    """A machine of a kind beside the others: the median of its ratios, one a point, and an interval of that median, if there is one."""

    machine: str
    ratio: float
    low: float | None
    high: float | None
    points: int

    @property
    def differs(self):
        return self.low is not None and not self.low <= 1 <= self.high

    @property
    def words(self):
        spread = f"{self.low:.3f} to {self.high:.3f}" if self.low is not None else "too few points for an interval"
        return (f"{self.machine}: {self.ratio:.3f} times the rate of the other machines ({spread}; {self.points} points)"
                f"{': a machine effect' if self.differs else ''}")


def interval(values, misses=MISSES):
    """Returns an interval of the median, two of the sorted values. It misses the median with this probability at most, whatever the
    distribution of independent values. None if there are too few."""
    ordered, n = sorted(values), len(values)
    outside = 0.0   # probability that the median lies below ordered[k], under a fair coin for each value
    best = None
    for k in range((n + 1) // 2):
        outside += math.comb(n, k) / 2**n
        if 2 * outside > misses:
            break
        best = k
    return None if best is None else (ordered[best], ordered[n - 1 - best])


def machines_in(results):
    """Returns the runs by machine, (boot_id, topology digest) -> {made: rate}, and the name of each."""
    rates, nodes = {}, {}
    for made, document in results.known.items():
        rate = (document.get("throughput") or {}).get("per_second")
        node = results.runs.get(made, {}).get("node")
        of = document.get("machine")
        if not rate or not of or node is None or document["status"] not in ("ok", "noisy"):
            continue
        machine = of.get("boot_id") or node, of.get("topology_digest")
        rates.setdefault(machine, {})[made] = rate
        nodes.setdefault(machine, set()).add(node)
    of_nodes = {machine: "+".join(sorted(of)) for machine, of in nodes.items()}
    # A node may have booted in between, or another machine may have taken its name.
    alike = list(of_nodes.values())
    return rates, {machine: name if alike.count(name) == 1 else f"{name}, boot {machine[0][:8]}" for machine, name in of_nodes.items()}


def effects(results):
    """Returns the Effect of each machine of a kind; none if there is one machine. `results` are those of the kind."""
    out = []
    rates, names = machines_in(results)
    for machine in sorted(rates, key=names.get) if len(rates) > 1 else ():
        mine, others = by_point(rates[machine]), by_point(*(rates[other] for other in rates if other != machine))
        ratios = [statistics.fmean(logs) - statistics.fmean(others[point]) for point, logs in mine.items() if point in others]
        if ratios:
            bounds = interval(ratios, MISSES / len(rates))
            low, high = map(math.exp, bounds) if bounds else (None, None)
            out.append(Effect(names[machine], math.exp(statistics.median(ratios)), low, high, len(ratios)))
    return out


def by_point(*sets):
    """Returns the logarithms of the rates of each point."""
    logs = {}
    for rates in sets:
        for (arguments, _), rate in rates.items():
            logs.setdefault(arguments, []).append(math.log(rate))
    return logs


def show(results, folder):
    """Prints the effects of the machines of a kind, and draws them into machines.svg in its folder. Does nothing for a single machine."""
    found = effects(results)
    for effect in found:
        print(effect.words)
    if not found:
        return
    try:
        draw(found, folder / "machines.svg")
    except ImportError as error:
        print(f"no machines.svg is drawn: {error}; ./bench experiment installs it", file=sys.stderr)


def draw(found, path):
    """Draws the effects as a picture: a machine a line, its ratio and the interval. Raises ImportError without the module that draws."""
    import altair

    rows = [{"machine": each.machine, "ratio": each.ratio, "low": each.low, "high": each.high,
             "effect": "a machine effect" if each.differs else "none is shown"} for each in found]
    scale = altair.Scale(type="log", padding=20, nice=False)
    ratio = altair.X("ratio:Q", title="times the rate of the other machines of its kind", scale=scale)
    machine = altair.Y("machine:N", title=None, sort=None)
    colors = altair.Scale(domain=["none is shown", "a machine effect"], range=["#4c78a8", "#e45756"])
    color = altair.Color("effect:N", title=None, scale=colors)
    whole = altair.Chart(altair.Data(values=rows))
    held = altair.Chart(altair.Data(values=[row for row in rows if row["low"] is not None]))
    one = altair.Chart(altair.Data(values=[{"ratio": 1}])).mark_rule(strokeDash=[4, 3], color="#888").encode(x="ratio:Q")
    spread = held.mark_rule().encode(x=altair.X("low:Q"), x2="high:Q", y=machine, color=color)
    points = whole.mark_point(filled=True, size=60).encode(x=ratio, y=machine, color=color)
    title = altair.TitleParams("Machines of a kind beside each other", anchor="start",
                               subtitle=f"medians over points; all intervals hold theirs with probability {1 - MISSES:g}")
    altair.layer(one, spread, points).properties(width=380, height=altair.Step(24), title=title).save(path)
