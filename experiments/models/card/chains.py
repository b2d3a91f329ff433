"""KV-Direct's hash table, as far as accesses go: buckets of one line, whose chains grow by a line when it is full.

`counted` puts pairs into buckets and counts; the closed forms below say the same. A pair is inline if it lies in slots of the bucket.
Otherwise a slot points to its record, which has lines of its own.

    load     pairs a bucket
    room     pairs a line
    GET      the lines up to the pair, and its record
    update   a GET's lines of the chain, then the pair's line or its record is written
    insert   the chain up to its end, then a line is written
"""
import math
from dataclasses import dataclass

import numpy

from models.card.parameters import value


@dataclass(frozen=True)
class Table:
    """Pairs of one size in a table."""

    pair_bytes: int
    load: float
    inline: bool = True

    @property
    def slots(self):
        """Slots of a pair."""
        return math.ceil(self.pair_bytes / value("slot_bytes")) if self.inline else 1

    @property
    def room(self):
        return value("slots") // self.slots

    @property
    def stored_bytes(self):
        """Bytes of the slots or of the record of a pair."""
        return self.slots * value("slot_bytes") if self.inline else self.record_bytes

    @property
    def record_bytes(self):
        """Bytes of a record in its slab: 32, 64, ... 512; in blocks of 512 above that. 0 if the pair is inline."""
        need = self.pair_bytes + value("record_header_bytes")
        if self.inline:
            return 0
        return max(32, 1 << (need - 1).bit_length()) if need <= 512 else -(-need // 512) * 512

    @property
    def record_lines(self):
        """Lines of a record that an operation moves."""
        return 0 if self.inline else -(-(self.pair_bytes + value("record_header_bytes")) // value("line_bytes"))


def poisson(mean):
    """Returns the probabilities of 0, 1, ... as far as they matter."""
    counts = numpy.arange(int(mean + 12 * math.sqrt(mean) + 30))
    logs = counts * math.log(mean) - mean - numpy.array([math.lgamma(count + 1) for count in counts])
    return numpy.exp(logs)


def chain_of_get(load, room):
    """Closed form: lines up to a pair that is there. The other pairs of its bucket are Poisson's, and each place among them as likely."""
    return float(sum(p * sum(-(-place // room) for place in range(1, others + 2)) / (others + 1)
                     for others, p in enumerate(poisson(load))))


def chain_of_insert(load, room):
    """Closed form: lines up to the one that takes a pair which is not there."""
    return float(sum(p * -(-(others + 1) // room) for others, p in enumerate(poisson(load))))


def lines_a_bucket(load, room):
    """Closed form: lines of a chain; an empty bucket is one."""
    return float(sum(p * max(1, -(-pairs // room)) for pairs, p in enumerate(poisson(load))))


def counted(random, table, buckets=60_000):
    """Puts pairs into buckets. Returns the line of each pair, and of each bucket the line that takes its next one."""
    place_of = random.integers(0, buckets, int(round(table.load * buckets)))
    pairs = numpy.bincount(place_of, minlength=buckets)
    ends = numpy.cumsum(pairs)
    places = numpy.arange(len(place_of)) - numpy.repeat(ends - pairs, pairs)   # of each pair in its bucket
    return places // table.room + 1, pairs // table.room + 1


def tightest(pair_bytes, utilisation):
    """Returns the table in which a GET takes the fewest lines: pairs inline or not, and the most buckets with which chains and records
    still fit into the memory. The paper tunes the inline threshold and the index ratio before each run, but does not print them.
    `utilisation` is the share of the memory that slots and records with pairs have; at the default one it is decided whether pairs are
    inline. Raises ValueError if the pairs do not fit."""
    choices = [Table(pair_bytes, 1.0, inline) for inline in (True, False)
               if not inline or pair_bytes <= value("slots") * value("slot_bytes")]
    fitting = [fitted for table in choices if (fitted := fullest(table, value("utilisation")))]
    best = min(fitting, key=lambda table: chain_of_get(table.load, table.room) + table.record_lines)
    found = fullest(best, utilisation)
    if not found:
        raise ValueError(f"pairs of {pair_bytes} bytes do not fit at a utilisation of {utilisation}")
    return found


def fullest(table, utilisation):
    """Returns the table with the most buckets that fit, or None if there is none."""
    def memory(load):
        """Bytes over the bytes of all memory, for this many pairs a bucket. A higher load takes less."""
        return utilisation / table.stored_bytes * (value("line_bytes") * lines_a_bucket(load, table.room) / load + table.record_bytes)

    low, high = 1e-3, 64.0
    if memory(high) > 1:
        return None
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if memory(middle) > 1 else (low, middle)
    return Table(table.pair_bytes, high, table.inline)
