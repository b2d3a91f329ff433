"""Would an offload pay? A card and a workload: what each limit allows, what the simulator gives, and what cores do instead."""
import math
from dataclasses import dataclass

import numpy

from models.card import closed_forms, measured, popularity, traffic
from models.card.parameters import value
from models.card.report import line_of_input, shown
from models.card.simulator import simulate

OPERATIONS = 40_000
LINES = 400_000   # that are read or written for records of several lines
FEWEST = 1000     # operations
LEAST = 20_000    # of a trace
SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)   # of cacheable lines that are tried
SHOWN = 12                             # measured runs


@dataclass
class Answer:
    demand: closed_forms.Demand
    limits: dict         # limit -> operations a second
    forwarded: float
    outcome: object      # of the simulator

    @property
    def limit(self):
        return min(self.limits, key=self.limits.get)


def hits_of(random, workload, held, cached):
    """Returns the hit ratio of the card's memory, which holds the share `held` of all lines, if the share `cached` may lie there."""
    if not cached:
        return 0.0
    if held >= cached:
        return 1.0
    if workload.shares is not None:
        return popularity.direct_mapped_hits_of(random, workload.shares, cached / held, 50_000)
    if workload.zipf == 0:
        return held / cached
    return popularity.direct_mapped_hits(random, workload.records, workload.zipf, cached / held, 50_000)


def demand_of(random, card, workload):
    """Returns what the workload asks of a card whose share of cacheable lines is the best of SHARES."""
    table, memory = workload.table(card)
    held = min(1.0, card.dram_capacity_bytes / memory)
    demands = [closed_forms.Demand(table, workload.writes, workload.zipf, workload.records, cached, hits_of(random, workload, held, cached),
                                   shares=workload.shares) for cached in SHARES]
    return max(demands, key=lambda demand: closed_forms.throughput(card, demand)[0])


def answer(random, card, workload):
    demand = demand_of(random, card, workload)
    limits, forwarded = closed_forms.limits(card, demand)
    options = {"cached": demand.cached, "hits": demand.hits}
    if workload.keys is None:
        count = max(FEWEST, min(OPERATIONS, int(LINES / (1 + demand.table.record_lines))))
        operations = traffic.make(random, demand.table, count, workload.writes, workload.zipf, workload.records, **options)
    else:
        again = -(-LEAST // len(workload.keys))   # a short trace is repeated
        operations = traffic.of_keys(random, demand.table, numpy.tile(workload.keys, again), numpy.tile(workload.changes, again), **options)
    return Answer(demand, limits, forwarded, simulate(card, operations, random))


def beside(runs, rate):
    """Returns the lines of measured runs, and the verdict."""
    lines = ["", "Measured: the fastest run of each kind",
             f"  {'index and policy':44} {'threads':>7} {'Mops':>9} {'card / run':>11}  differs"]
    for run in runs[:SHOWN]:
        note = ("" if run.same else run.differs) + (f" ({run.status})" if run.status != "ok" else "")
        lines.append(f"  {run.what[:44]:44} {run.threads:7} {shown(run.rate / 1e6):>9} {rate / run.rate:11.2f}  {note}".rstrip())
    if len(runs) > SHOWN:
        lines.append(f"  and {len(runs) - SHOWN} slower ones, or ones of another workload")
    servers, own = [run for run in runs if run.through], [run for run in runs if not run.through]
    lines.append("")
    for kind, of in (("server", servers), ("index without a network", own)):
        same = [run for run in of if run.same]
        fastest = max(same or of, key=lambda run: run.rate, default=None)
        if fastest is None:
            lines.append(f"There is no {kind} in the folder.")
            continue
        times = rate / fastest.rate
        verdict = f"pays: {times:.2f} times" if times > 1 else f"does not pay: {times:.2f} times"
        other = "" if fastest.same else f"; its workload differs: {fastest.differs}"
        lines.append(f"Beside the fastest {kind} ({fastest.what}, {fastest.threads} threads) the card {verdict} its throughput{other}.")
    if not servers:
        lines.append("An index that is called within a process spares the network. ./bench serve with --index=remote measures a server.")
    return lines


def limits_of(card, found):
    """Returns the lines of what each limit allows, and of what the simulator gives."""
    lines = [f"  {'limit':24} {'Mops':>9}  without it"]
    for limit in sorted(found.limits, key=found.limits.get):
        rest = ""
        if limit == found.limit:
            rate, other = closed_forms.throughput(card.without(limit), found.demand)
            rest = f"{shown(rate / 1e6)}, by {other}" if math.isfinite(rate) else "nothing else limits"
        allowed = shown(found.limits[limit] / 1e6) if math.isfinite(found.limits[limit]) else "-"
        lines.append(f"  {limit:24} {allowed:>9}  {rest}".rstrip())
    outcome = found.outcome
    return [*lines, f"  {'simulated':24} {shown(outcome.rate / 1e6):>9}  busiest: {outcome.limit}; "
            f"{100 * outcome.forwarded / outcome.operations:.1f} % forwarded, {outcome.most_in_flight} in flight at most"]


def report(device, workload, folder, seed=1):
    """Returns the lines of the answer. `folder` has results, or is None."""
    runs = measured.read(folder, workload) if folder else []
    found = answer(numpy.random.default_rng([seed, 99]), device.card, workload)
    demand, rate = found.demand, found.outcome.rate
    lines = [f"device    {device.name}: {device.says}",
             f"workload  {workload.words}: {workload.pair_bytes} bytes a pair, {100 * demand.writes:g} % writes, "
             f"{workload.records:,} records, {demand.chain + demand.table.record_lines:.2f} lines a GET",
             f"dispatch  {100 * demand.cached:g} % of the lines cacheable, {100 * demand.hits:.1f} % of those hit",
             "", *limits_of(device.card, found), "",
             f"As many as {rate / value('kernel_core_hz'):,.0f} cores through the kernel, or {rate / value('bypass_core_hz'):,.0f} past it,"
             " by the talk's rates of 2017 (0.3 and 5 M a core)."]
    lines += beside(runs, rate) if runs else ["--beside=FOLDER compares that with what was measured here."]
    lines += ["", "Values that differ from KV-Direct's: value, tag, source"]
    for change in device.changes:
        lines += line_of_input(change)
    return lines if device.changes else [*lines, "  none"]
