"""What limits a card, in closed form: for each limit the operations a second that it allows. The least of them is the throughput.

They hold where an operation waits for another on its key in the station alone, and are within 2 % of the simulator there, for uniform keys and
for Zipf's up to .99. The simulator is for the rest. Two things are left out, which pull apart:

    written twice    a value may change again while it waits to be written. Skewed PUTs are 1 to 2 % slower for that
    hot keys         an operation that waits for its key is in flight for less time than the one before it, so more of them meet than are
                     in flight at once. With Zipf 1.2 the simulator does from 3 % less, where two limits are close, to 9 % more

    per operation    (1 - f) of it goes to memory, where f is the share that the station forwards
    reads            lines of its chain, and of its record if it is a GET
    by PCIe          reads x (1 - c h), written lines x (1 - c), and a line that a miss throws out, if it was changed
    by the card      cacheable reads, the lines that misses bring, and cacheable writes
"""
import math
from dataclasses import dataclass

import numpy

from models.card import chains, popularity
from models.card.parameters import value


@dataclass(frozen=True)
class Demand:
    """What operations ask for. `cached`, `hits`: as in Traffic."""

    table: chains.Table
    writes: float = 0.0      # share of updates; the others are GETs
    zipf: float = 0.0
    records: float = 1e9
    cached: float = 0.0
    hits: float = 0.0
    station: bool = True
    batched: bool = True
    shares: object = None    # of keys among operations, as an array, in place of `zipf` and `records`

    @property
    def chain(self):
        return chains.chain_of_get(self.table.load, self.table.room)

    @property
    def reads(self):
        return self.chain + (1 - self.writes) * self.table.record_lines

    @property
    def written(self):
        """Lines that a write writes: the pair's, or its record's and the slot that leads to it."""
        return 1 + self.table.record_lines


def mean_over_keys(demand, of):
    """Returns the mean of of(share of a key among operations) over operations."""
    if demand.shares is not None:
        return float((demand.shares * of(demand.shares)).sum())
    if demand.zipf == 0:
        return float(of(numpy.float64(1 / demand.records)))
    return popularity.mean_over_ranks(demand.records, demand.zipf, of)


def chains_of(demand, resident):
    """Returns the share of operations that find one on their key in the station, which has `resident` operations; and the share of those
    that go to memory and are followed by a write there.

    Arrivals of a key are Poisson's: behind each operation that goes to memory, as many come as its key's share of the residents. They are
    one chain, which is written once if one of it is a write. So most chains have one operation, whatever their mean is."""
    w = demand.writes
    if not demand.station or resident <= 0:
        return 0.0, w
    forwarded = mean_over_keys(demand, lambda share: share * resident / (1 + share * resident))
    return forwarded, mean_over_keys(demand, lambda share: (1 - (1 - w) * numpy.exp(-w * share * resident)) / (1 + share * resident))


def residence(card, demand):
    """Returns how long an operation that goes to memory is in the card, if nothing is busy."""
    cacheable = demand.cached * card.dram_latency_s + (1 - demand.cached * demand.hits) * card.read_latency_s
    rounds = demand.chain + (1 - demand.writes) * min(1, demand.table.record_lines)
    return card.pipeline_cycles * card.cycle + rounds * cacheable


def packed(card, demand, size):
    """Returns the bytes on the network for an operation of this size."""
    return size * (1 + card.header_bytes / card.payload_bytes) if demand.batched else size + card.header_bytes


def allowed(card, demand, forwarded, changed):
    """Returns the operations a second that each limit allows. `forwarded`, `changed`: the shares of `chains_of`."""
    c, h, w = demand.cached, demand.hits, demand.writes
    written = changed * demand.written
    reads = (1 - forwarded) * demand.reads
    down = reads * (1 - c * h)
    up = written * (1 - c) + reads * c * (1 - h) * w
    tagged = down + (up if card.tags_for_writes else 0)
    by_card = reads * c * (2 - h) + written * c
    line = card.line_bytes + card.tlp_bytes
    pair = demand.table.pair_bytes + card.operation_bytes
    key = min(demand.table.pair_bytes, value("key_bytes")) + card.operation_bytes
    inward = w * packed(card, demand, pair) + (1 - w) * packed(card, demand, key)
    outward = w * packed(card, demand, card.operation_bytes) + (1 - w) * packed(card, demand, pair)
    return {
        "clock": card.clock_hz,
        "PCIe tags": card.lines_hz / tagged if tagged else math.inf,
        "PCIe bytes": card.pcie_bytes_s / (max(down, up) * line) if max(down, up) else math.inf,
        "card's memory": card.dram_bytes_s / (by_card * card.line_bytes) if by_card else math.inf,
        "network": card.network_bytes_s / max(inward, outward),
        "operations in flight": in_flight(card, demand),
    }


def in_flight(card, demand):
    """Returns what the number of operations in flight allows. One that is forwarded waits about as long as the one before it. One whose
    slot of the station has another key waits for that, as in a queue with a fixed time of service."""
    if not math.isfinite(card.in_flight):
        return math.inf
    busy = -math.expm1(-card.in_flight / card.station_slots) if demand.station else 0.0
    return card.in_flight / (residence(card, demand) * (1 + busy / (2 * (1 - busy))))


def limits(card, demand):
    """Returns what each limit allows at the throughput itself, and the share that is forwarded then."""
    def at(resident):
        # One operation a slot of the station is at work. The others wait behind it.
        forwarded, changed = chains_of(demand, card.station_slots * -math.expm1(-resident / card.station_slots))
        return allowed(card, demand, forwarded, changed), forwarded

    outside = min(limit for name, limit in allowed(card, demand, 0.0, demand.writes).items() if name in ("clock", "network"))
    found = at(min(card.in_flight, outside * residence(card, demand)))
    # Where memory is the limit, operations wait for it until the station is full.
    return found if min(found[0].values()) >= outside else at(card.in_flight)


def throughput(card, demand):
    """Returns operations a second, and the limit."""
    found, _ = limits(card, demand)
    limit = min(found, key=found.get)
    return found[limit], limit


def stalled(card):
    """Operations a second on one key, if each waits for the one before."""
    return 1 / (card.read_latency_s + card.pipeline_cycles * card.cycle)


def dispatched(lines_hz, cached, hits):
    """Accesses a second with load dispatch, if PCIe alone is the limit, and their flows: direct, cacheable, hit, miss, PCIe."""
    total = lines_hz / (1 - cached * hits)
    return {"all": total, "direct": total * (1 - cached), "cacheable": total * cached, "hit": total * cached * hits,
            "miss": total * cached * (1 - hits), "PCIe": lines_hz}


def form_of_hits(card, cached, lines):
    """The paper's form of the hit ratio of Zipf: log(k n) / log(l n), where the card holds the share k of n lines."""
    held = card.dram_capacity_bytes / card.store_bytes
    return math.log(held * lines) / math.log(cached * lines)
