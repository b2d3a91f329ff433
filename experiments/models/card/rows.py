"""The model's number for each published one: `numbers(seed)` has them under the names of published.toml.

Each is in closed form, simulated, or both. What a row assumes beside parameters.toml stands at its function.
"""
import dataclasses
import math
from dataclasses import dataclass

import numpy

from models.card import chains, closed_forms, popularity, traffic
from models.card.parameters import kv_direct, value
from models.card.simulator import simulate

SIZES = (5, 10, 15, 62, 126, 254)
UTILISATIONS = (30, 35, 40, 45, 50, 55, 60, 65)
OPERATIONS = 20_000       # of a simulated row, unless it says otherwise
STALLED = {1: 200_000, 10: 80_000, 50: 40_000, 100: 40_000}   # the same of rows that stall, by percent of PUTs: the fewer, the more chance
PACE = 0.95               # of the highest rate, at which latencies are taken
PAUSES = "station/stalled-"   # rows of few and long pauses, in which two seeds differ by more than in others
EXTREMES = ("batching/least", "batching/most", "station/in-flight", "station/resident")   # of one operation of a run
CARD = kv_direct()


@dataclass
class Number:
    """A number of the model in the unit of its row: in closed form, simulated, or both. `limit` is what limits the simulated one, or else
    the other."""

    closed: float | None = None
    simulated: float | None = None
    limit: str = ""

    @property
    def best(self):
        return self.closed if self.simulated is None else self.simulated


def skewed(station="on", **more):
    """Options of traffic with Zipf's keys and load dispatch."""
    return {"zipf": value("zipf"), "cached": value("dispatch"), "hits": value("dispatch_hits"), "station": station, **more}


def run(random, table, operations=OPERATIONS, card=CARD, **options):
    return simulate(card, traffic.make(random, table, operations, **options), random)


def throughput(random, table, writes=0.0, operations=OPERATIONS, **options):
    """Returns a throughput in Mops, simulated and in closed form."""
    demand = closed_forms.Demand(table, writes, **{key: options[key] for key in ("zipf", "cached", "hits") if key in options})
    outcome = run(random, table, operations, writes=writes, **options)
    return Number(closed_forms.throughput(CARD, demand)[0] / 1e6, outcome.rate / 1e6, outcome.limit)


def accesses(random):
    """Pairs of 10 bytes at the figure's index ratio, and of 254 bytes at the best one. Here a record counts once, as in the figures."""
    out = {}

    def add(name, table, record):
        of_pairs, of_next = chains.counted(random, table, 200_000)
        get, insert = chains.chain_of_get(table.load, table.room), chains.chain_of_insert(table.load, table.room)
        out[f"accesses/get-{name}"] = Number(get + record, float(of_pairs.mean()) + record)
        out[f"accesses/put-{name}"] = Number(insert + record + 1, float(of_next.mean()) + record + 1)

    for percent in UTILISATIONS:
        add(percent, chains.Table(10, percent / 100 * value("line_bytes") / 10 / value("access_index_ratio")), 0)
    out["accesses/get-50-other"] = out["accesses/get-50"]
    add(254, chains.tightest(254, .85), 1)
    moved = value("slab_moves")
    out["accesses/slab"] = Number(closed=math.ceil(moved * value("slab_entry_bytes") / value("line_bytes")) / moved)
    return out


def uniform(random):
    """Uniform keys without load dispatch, which would gain a fifteenth for any share. A PUT changes a key that is there, as YCSB's do."""
    return {f"uniform/{name}-{size}": throughput(random, chains.tightest(size, value("utilisation")), writes, OPERATIONS // 2)
            for name, writes in (("get", 0.0), ("put", 1.0)) for size in SIZES}


def zipf(random):
    """Zipf's keys with load dispatch and the station."""
    return {f"zipf/{name}-{size}": throughput(random, chains.tightest(size, value("utilisation")), writes,
                                              2 * OPERATIONS if size < 62 else OPERATIONS, **skewed())
            for name, writes in (("get", 0.0), ("put", 1.0)) for size in SIZES}


def one_key(pair_bytes=8):
    """The table of a single pair."""
    return chains.Table(pair_bytes, 1e-3)


def station(random):
    """Atomics on one key; GETs and PUTs of 5 bytes, the smallest pair. What the station does alone has no limit of PCIe and no load
    dispatch: all lines come from the host. Without a station an operation waits for one on its key if one of the two writes, and so do those
    behind it."""
    small = chains.tightest(5, value("utilisation"))
    merged = run(random, one_key(), writes=1.0, records=1)
    stalled = run(random, one_key(), 1000, writes=1.0, records=1, station="stall")
    gets = run(random, small, **skewed())
    only_station = CARD.without("PCIe tags").without("PCIe bytes")
    alone = run(random, small, 5 * OPERATIONS, only_station, zipf=value("zipf"))
    out = {
        "station/atomics": Number(CARD.clock_hz / 1e6, merged.rate / 1e6, merged.limit),
        "station/atomics-stalled": Number(closed_forms.stalled(CARD) / 1e6, stalled.rate / 1e6, stalled.limit),
        "station/zipf": Number(None, gets.rate / 1e6, gets.limit),
        "station/forwarded": Number(None, 100 * alone.forwarded / alone.operations),
        "station/in-flight": Number(None, alone.most_in_flight),
        "station/resident": Number(None, alone.most_resident),
    }
    for percent in (0, *STALLED):
        outcome = run(random, small, STALLED.get(percent, OPERATIONS), writes=percent / 100, **skewed("stall"))
        out[f"station/stalled-{percent}"] = Number(None, outcome.rate / 1e6, outcome.limit)
    for percent in STALLED:
        outcome = run(random, small, STALLED[percent], only_station, writes=percent / 100, zipf=value("zipf"), station="stall")
        out[f"station/stalled-alone-{percent}"] = Number(None, outcome.rate / 1e6, outcome.limit)
    return out


def dispatch(random):
    """Single lines, without a station. The flows have no limit but PCIe, with the talk's rate; the other two have the card as it is."""
    hz = value("talk_accesses_hz")
    only_pcie = CARD.without("clock").without("network").without("card's memory").changed(
        read_latency_s=CARD.links * CARD.tags / hz)
    cached, hits = value("dispatch"), value("dispatch_hits")
    outcome = run(random, one_key(), 60_000, only_pcie, cached=cached, hits=hits, station="off")
    total = sum(outcome.accesses[of] for of in ("direct", "hit", "miss"))
    share = {of: count / total for of, count in outcome.accesses.items()}
    share |= {"all": 1.0, "cacheable": share["hit"] + share["miss"], "pcie": share["direct"] + share["miss"]}
    closed = {of.lower(): rate / 1e6 for of, rate in closed_forms.dispatched(hz, cached, hits).items()}
    out = {f"dispatch/{of}": Number(closed[of], outcome.rate / 1e6 * share[of], outcome.limit) for of in closed}
    held = CARD.dram_capacity_bytes / CARD.store_bytes
    slower = CARD.changed(read_latency_s=CARD.links * CARD.tags / hz)
    even = run(random, one_key(), OPERATIONS, slower, cached=cached, hits=held / cached, station="off")
    uneven = run(random, one_key(), OPERATIONS, slower, cached=cached, hits=hits, station="off")
    out["dispatch/uniform"] = Number(closed_forms.dispatched(hz, cached, held / cached)["all"] / 1e6, even.rate / 1e6, even.limit)
    out["dispatch/zipf"] = Number(min(CARD.clock_hz / 1e6, closed["all"]), uneven.rate / 1e6, uneven.limit)
    out["dispatch/hits-form"] = Number(closed_forms.form_of_hits(CARD, cached, value("form_records")))
    rivals = cached / held
    out["dispatch/hits-cache"] = Number(None, popularity.direct_mapped_hits(random, int(value("records")), value("zipf"), rivals))
    return out


def batching(random):
    """GETs of 8 bytes, Zipf's keys. The latency is from when a client sends a packet, whose operations are ready. What one packet takes on
    the wire and in the client is the published latency of single operations less the card's, so only the difference is derived."""
    table = chains.tightest(8, value("utilisation"))
    alone = run(random, table, batched=False, **skewed())
    full = run(random, table, 2 * OPERATIONS, **skewed())
    slow = run(random, table, batched=False, **skewed(pace_hz=PACE * alone.rate))
    fast = run(random, table, **skewed(pace_hz=PACE * min(full.rate, CARD.clock_hz)))
    wire = value("single_latency_s") - float(numpy.mean(slow.latencies))
    demand = closed_forms.Demand(table, 0.0, value("zipf"), cached=value("dispatch"), hits=value("dispatch_hits"))
    single = closed_forms.throughput(CARD, dataclasses.replace(demand, batched=False))[0]
    out = {
        "batching/alone": Number(single / 1e6, alone.rate / 1e6, alone.limit),
        "batching/batched": Number(closed_forms.throughput(CARD, demand)[0] / 1e6, full.rate / 1e6, full.limit),
    }
    for name, outcome in (("alone", slow), ("batched", fast)):
        for of, number in (("least", min), ("average", numpy.mean), ("most", max)):
            out[f"batching/{of}-{name}"] = Number(None, 1e6 * (wire + float(number(outcome.latencies))))
    return out


def vectors(random):
    """Vectors of one key, which the station holds: 64 bytes of it a cycle. Five bytes stand beside a vector on the network."""
    line, operation = value("line_bytes"), value("operation_bytes")
    key, element = value("vector_key_bytes"), value("element_bytes")
    packed = CARD.network_bytes_s * CARD.payload_bytes / (CARD.payload_bytes + CARD.header_bytes)

    def outcome(lines, request, answer):
        of = traffic.make(random, one_key(), 4000, writes=1.0, records=1)
        of = dataclasses.replace(of, record_lines=lines, cycles=lines, request_bytes=[request] * len(of), answer_bytes=[answer] * len(of))
        return simulate(CARD, of, random)

    out = {}
    for size in (64, 1024):
        lines = size // line
        held = outcome(lines, key + operation + element, operation)
        sent = outcome(lines, key + operation + size, operation)
        clock = CARD.clock_hz * line
        out[f"vectors/held-{size}"] = Number(clock / 1e9, held.rate * size / 1e9, held.limit)
        out[f"vectors/sent-{size}"] = Number(min(clock, packed * size / (size + key + operation)) / 1e9, sent.rate * size / 1e9, sent.limit)
        # A client that has one vector under way: a round trip, and the vector's time on the network.
        out[f"vectors/client-{size}"] = Number(size / (value("single_latency_s") + size / CARD.network_bytes_s) / 1e9, limit="round trip")
    elements = outcome(1, key + operation + element, operation)
    out["vectors/elements"] = Number(min(CARD.clock_hz, packed / (key + operation + element)) * element / 1e9,
                                     elements.rate * element / 1e9, elements.limit)
    return out


def loaded_most(random, cards, zipf, requests=2_000_000):
    """Returns the share of requests that the most loaded card gets, of cards which share the keys by a hash."""
    if zipf == 0:
        return 1 / cards
    ranks = popularity.ranks_at(random.random(requests), int(value("records")), zipf).astype(numpy.uint64)
    mixed = (ranks + numpy.uint64(1)) * numpy.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> numpy.uint64(29))) * numpy.uint64(0xBF58476D1CE4E5B9)
    return float(numpy.bincount((mixed >> numpy.uint64(40)).astype(int) % cards, minlength=cards).max() / requests)


def several(random):
    """Ten cards, each with its part of the keys: all are as fast as the most loaded one allows. And the host's own memory, of which a busy
    card takes all that PCIe carries; the host's random reads wait for latency, which that does not change."""
    cards = int(value("nics"))
    small = chains.tightest(5, value("utilisation"))
    get, put = throughput(random, small), throughput(random, small, 1.0)
    uneven = throughput(random, small, **skewed())

    def shared(number, share):
        return Number(number.closed / share, number.simulated / share, number.limit)

    most = loaded_most(random, cards, value("zipf"))
    return {
        "nics/get": shared(get, loaded_most(random, cards, 0)),
        "nics/put": shared(put, 1 / cards),
        "nics/get-zipf": shared(uneven, most),
        "nics/pagerank": shared(get, 1 / cards),
        "nics/pagerank-updates": shared(put, 1 / cards),
        "host/random": Number(value("host_random_bytes_s") / 1e9),
        "host/sequential": Number((value("host_sequential_bytes_s") - CARD.lines_hz * CARD.line_bytes) / 1e9),
    }


def parts(_):
    """Published numbers that others imply."""
    return {
        "parts/pcie": Number(CARD.lines_hz / 1e6),
        "parts/card-memory": Number(CARD.dram_bytes_s / CARD.line_bytes / 1e6),
        "parts/packets": Number(CARD.network_bytes_s / CARD.header_bytes / 1e6),
        "parts/host-random": Number(value("host_accesses_hz") * CARD.line_bytes / 1e9),
        "parts/host-memory": Number((CARD.store_bytes + value("other_bytes")) / 2**30),
        "parts/cores": Number(CARD.clock_hz / value("bypass_core_hz")),
    }


GROUPS = (accesses, uniform, zipf, station, dispatch, batching, vectors, several, parts)


def numbers(seed):
    """Returns all numbers of the model by name. Those of one seed are always the same."""
    out = {}
    for number, group in enumerate(GROUPS):
        out |= group(numpy.random.default_rng([seed, number]))
    return out


def mean_of(runs):
    """Returns the means of several seeds."""
    return {name: first if first.simulated is None else
            dataclasses.replace(first, simulated=math.fsum(run[name].simulated for run in runs) / len(runs))
            for name, first in runs[0].items()}


def apart(runs, pauses):
    """Returns by which share the seeds differ at most, and in which row: of those with pauses, or of the others."""
    def share(name):
        simulated = [run[name].simulated for run in runs]
        return (max(simulated) - min(simulated)) / max(simulated)

    return max((share(name), name) for name, number in runs[0].items()
               if number.simulated and name.startswith(PAUSES) == pauses and not name.startswith(EXTREMES))
