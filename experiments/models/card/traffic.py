"""Operations that reach a card: their keys, what each reads and writes, and how long they are on the network."""
from dataclasses import dataclass, field

import numpy

from models.card import chains, popularity
from models.card.parameters import value

BLOCK = 64           # of spread(): so many draws in turn are as even as they can be
KEYS_BLOCK = 4096    # the same of popular keys: far more operations than are in flight, so that how often a key meets itself stays as it is


def spread(random, size, block=BLOCK):
    """Returns numbers from 0 to 1 which are as random, but each `block` of them has one in each of `block` equal parts. So a mean of them
    needs far fewer draws than one of independent numbers. Which number is where stays random."""
    blocks = -(-size // block)
    order = numpy.argsort(random.random((blocks, block)), axis=1)
    return ((order + random.random((blocks, block))) / block).ravel()[:size]


@dataclass
class Traffic:
    """Operations in their order. Lists have an entry for each of them."""

    keys: list
    writes: list               # true: the operation changes the value of its key
    chain: list                # lines that it reads one after the other
    record_lines: int = 0      # lines of the record, which a GET reads at once, and a write writes
    request_bytes: list = field(default_factory=list)
    answer_bytes: list = field(default_factory=list)
    batched: bool = True       # requests fill packets; else each is a packet
    pace_hz: float = 0.0       # operations a second of the client; 0: it always has more
    cached: float = 0.0        # share of lines that the card's memory may hold
    hits: float = 0.0          # share of those that it does hold
    station: str = "on"        # off, stall or on
    cycles: int = 1            # that an operation takes of the clock: long vectors take several

    def __len__(self):
        return len(self.keys)

    @property
    def write_share(self):
        return sum(self.writes) / len(self.writes)


def lines_of(random, table, size):
    """Returns the lines of their chains that `size` operations read."""
    of_pairs, _ = chains.counted(random, table)
    return numpy.sort(of_pairs)[(spread(random, size) * len(of_pairs)).astype(int)].tolist()


def make(random, table, operations, writes=0.0, zipf=0.0, records=None, **options):
    """Returns traffic of one table. `writes` is their share, `zipf` 0 for uniform keys; `options` are fields of Traffic."""
    records = records or int(value("records"))
    if zipf:
        keys = popularity.ranks_at(spread(random, operations, KEYS_BLOCK), records, zipf)
    else:
        keys = random.integers(0, records, operations)
    changes = spread(random, operations) < writes
    return of_keys(random, table, keys, changes, **options)


def of_keys(random, table, keys, changes, **options):
    """Returns traffic with these keys and writes, as numpy's arrays."""
    operation = value("operation_bytes")
    pair = table.pair_bytes + operation
    key = min(table.pair_bytes, value("key_bytes")) + operation
    options = {
        "request_bytes": numpy.where(changes, pair, key).tolist(),
        "answer_bytes": numpy.where(changes, operation, pair).tolist(),
        **options,
    }
    return Traffic(keys=keys.tolist(), writes=changes.tolist(), chain=lines_of(random, table, len(keys)),
                   record_lines=table.record_lines, **options)


def arrivals(card, traffic):
    """Returns two lists: when each operation has arrived, and when the client began to send its packet. An operation arrives with the last
    byte of its packet. All operations of a packet are ready when the client sends it."""
    size = numpy.asarray(traffic.request_bytes, dtype=float)
    if traffic.batched:
        packet = ((numpy.cumsum(size) - 1) // card.payload_bytes).astype(int)
        sizes = numpy.full(packet[-1] + 1, float(card.payload_bytes + card.header_bytes))
    else:
        packet, sizes = numpy.arange(len(size)), size + card.header_bytes
    took = sizes / card.network_bytes_s
    if traffic.pace_hz:
        starts = numpy.searchsorted(packet, numpy.arange(len(sizes))) / traffic.pace_hz
    else:
        starts = numpy.cumsum(took) - took
    return (starts + took)[packet].tolist(), starts[packet].tolist()
