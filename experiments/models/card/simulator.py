"""A simulator of discrete events: KV-Direct's card at work, operation by operation.

    network -> decode, in order, one a cycle -> reservation station -> lines of the chain, one after the other -> record -> compute
            -> the line or the record is written -> network

Everything that serves in the order of requests (the clock, links of PCIe, the card's memory, the network) is no process but the time from
which it is free: a request at time t begins at max(t, free). That needs requests in the order of time, so all that waits is in one heap. A
tag is a place in a ring of the times at which tags come back.

WHY NO LIBRARY? Both seeds of rows.py take two and a half million operations. SimPy 4.1 took 34 us of processor time for each, with four
steps (clock, tag, compute, network) and no station, chains or cache. This loop takes 8 to 12 us for a whole operation. So SimPy would take
over a minute and a half.

What is simplified: whether a line is cacheable, and whether it is cached, is drawn for each access; the host's memory is as fast whatever
else it does; a read by PCIe always takes as long; a miss takes its tag when the card's memory is asked, not behind that; a line that a miss
throws out was changed with the share of writes among operations.
"""
import collections
import heapq
import itertools
import math
from dataclasses import dataclass, field

import numpy

from models.card.traffic import arrivals, spread

WARMUP, END = 0.2, 0.97   # shares of the operations between which rates are taken: before it fills, behind it runs empty
WAITS = ("operations in flight", "same key")
ALWAYS, AT_TIMES = 0.9, 0.02   # shares of the time
READ, FORWARD, DONE = range(3)   # events


@dataclass
class Outcome:
    """What a run saw. Rates are a second, of all operations between WARMUP and END."""

    operations: int = 0
    rate: float = 0.0
    forwarded: int = 0         # operations that took the value of the one before, in the station
    most_in_flight: int = 0
    most_resident: int = 0     # slots of the station in use
    seconds: float = 0.0       # of the whole run
    latencies: list = field(default_factory=list)   # from the client's sending to its answer, both without the wire
    accesses: dict = field(default_factory=dict)    # direct, hit, miss, write, victim -> number
    busy: dict = field(default_factory=dict)        # limit -> share of the time in which it was in use

    @property
    def limit(self):
        """What was always in use; else for what operations waited before they began; else what was in use for most of the time."""
        served = {limit: share for limit, share in self.busy.items() if limit not in WAITS}
        busiest = max(served, key=served.get)
        waited = max(WAITS, key=self.busy.get)
        return waited if served[busiest] < ALWAYS and self.busy[waited] > AT_TIMES else busiest


class Memory:
    """The host's memory behind PCIe, and the card's, which caches a part of it."""

    def __init__(self, card, traffic, random):
        self.card, self.latency, self.dram_latency = card, card.read_latency_s, card.dram_latency_s
        tags = int(card.tags) if math.isfinite(card.tags) else 0
        self.rings = [[0.0] * tags for _ in range(card.links)]   # when each tag comes back, in the order of their use
        self.at = [0] * card.links
        self.down, self.up = [0.0] * card.links, [0.0] * card.links
        per_byte = card.links / card.pcie_bytes_s
        self.line_time = (card.line_bytes + card.tlp_bytes) * per_byte
        self.dram_time = card.line_bytes / card.dram_bytes_s
        self.dram_free = self.dram_busy = self.tag_time = self.down_time = self.up_time = 0.0
        self.cached, self.hits, self.dirty = traffic.cached, traffic.cached * traffic.hits, traffic.write_share
        draws = 4 * len(traffic) + 64
        self.draws = itertools.cycle(spread(random, draws).tolist())
        self.sides = itertools.cycle(range(card.links))   # they take requests in turn
        self.count = dict.fromkeys(("direct", "hit", "miss", "write", "victim"), 0)

    def tag(self, now, link):
        """Returns when a request of this time gets a tag, and takes it until `latency` later."""
        ring = self.rings[link]
        if not ring:
            return now
        at = self.at[link]
        begin = max(now, ring[at])
        ring[at] = begin + self.latency
        self.at[link] = (at + 1) % len(ring)
        self.tag_time += self.latency
        return begin

    def from_host(self, now):
        """Returns when a line of the host has come."""
        link = next(self.sides)
        begin = self.tag(now, link)
        done = max(begin + self.latency, self.down[link] + self.line_time)
        self.down[link] = done
        self.down_time += self.line_time
        return done

    def to_host(self, now):
        """Returns when a line begins to leave for the host. Its writer does not wait for more."""
        link = next(self.sides)
        begin = self.tag(now, link) if self.card.tags_for_writes else now
        begin = max(begin, self.up[link])
        self.up[link] = begin + self.line_time
        self.up_time += self.line_time
        return begin

    def in_dram(self, now):
        """Returns when the card's memory has moved a line."""
        self.dram_free = max(now, self.dram_free) + self.dram_time
        self.dram_busy += self.dram_time
        return self.dram_free

    def read(self, now):
        """Returns when a line has come, and whether it is in the card's memory then."""
        draw = next(self.draws)
        if draw >= self.cached:
            self.count["direct"] += 1
            return self.from_host(now), False
        probed = self.in_dram(now) + self.dram_latency
        if draw < self.hits:
            self.count["hit"] += 1
            return probed, True
        self.count["miss"] += 1
        self.in_dram(now)   # the line goes there, too
        if self.dirty and next(self.draws) < self.dirty:
            self.count["victim"] += 1
            self.to_host(now)
        # The request leaves after the card's memory was asked. It takes its tag a little early, so that requests stay in order.
        return self.from_host(now) + (probed - now), True

    def write(self, now, in_card):
        """Returns when a line that was read before is written, as far as its writer waits."""
        self.count["write"] += 1
        return self.in_dram(now) if in_card else self.to_host(now)


def slots_of(keys, slots):
    """Returns the slot of the station of each key, by a hash."""
    mixed = numpy.asarray(keys, dtype=numpy.uint64) * numpy.uint64(0x9E3779B97F4A7C15)
    return (mixed >> numpy.uint64(32) & numpy.uint64(slots - 1)).tolist()


class Run:
    """One run. An operation is its number; lists have a place for each."""

    def __init__(self, card, traffic, random):
        self.card, self.traffic = card, traffic
        self.memory = Memory(card, traffic, random)
        self.arrived, self.sent = arrivals(card, traffic)
        self.left = list(traffic.chain)             # lines of the chain that are still to be read
        self.in_card = [False] * len(traffic)       # the last of them lies in the card's memory
        self.slot = slots_of(traffic.keys, card.station_slots)
        self.heap, self.numbers = [], itertools.count()
        self.in_flight = self.most = self.most_resident = self.forwarded = 0
        self.slots = {}                             # of the station: slot -> operations that wait, for the one before them
        self.dirty = set()                          # slots whose value is newer than that of the memory
        self.users = {}                             # without a station: key -> [operations in flight, writes among them]
        self.cycle, self.record_lines = traffic.cycles * card.cycle, traffic.record_lines
        self.front_time, self.front, self.is_blocked = self.arrived[0], 0, False
        self.blocked, self.blocked_by = dict.fromkeys(WAITS, 0.0), ""
        self.blocked_since = self.compute_free = self.answer_free = 0.0
        self.answer_busy, self.request_busy = 0.0, 0.0 if traffic.pace_hz else self.arrived[-1]
        self.finished = []
        self.latencies = []

    def push(self, when, event, operation):
        heapq.heappush(self.heap, (when, next(self.numbers), event, operation))

    def conflicts(self, operation):
        """Returns whether an operation on the same key is in flight, and one of the two writes."""
        users = self.users.get(self.traffic.keys[operation])
        return users is not None and (users[1] > 0 or self.traffic.writes[operation])

    def step_front(self):
        """Decodes the next operation, which waits where it is if it may not begin."""
        operation, now, station = self.front, self.front_time, self.traffic.station
        if self.in_flight >= self.card.in_flight or station == "stall" and self.conflicts(operation):
            self.is_blocked, self.blocked_since = True, now
            self.blocked_by = WAITS[self.in_flight < self.card.in_flight]
            return
        self.front += 1
        self.in_flight += 1
        if self.in_flight > self.most:
            self.most = self.in_flight
        if self.front < len(self.arrived):
            self.front_time = max(now + self.cycle, self.arrived[self.front])
        if station == "on":
            slot = self.slot[operation]
            if slot in self.slots:
                self.slots[slot].append(operation)
                return
            self.slots[slot] = collections.deque()
            if len(self.slots) > self.most_resident:
                self.most_resident = len(self.slots)
        elif station == "stall":
            users = self.users.setdefault(self.traffic.keys[operation], [0, 0])
            users[0] += 1
            users[1] += self.traffic.writes[operation]
        self.step_read(now, operation)

    def step_read(self, now, operation):
        """A line has come, or the operation begins. It asks for the next, or computes: one operation a cycle changes or answers a value."""
        left = self.left[operation]
        if left > 0:
            self.left[operation] = left - 1
            done, self.in_card[operation] = self.memory.read(now)
            heapq.heappush(self.heap, (done, next(self.numbers), READ, operation))
        elif left == 0 and self.record_lines and not self.traffic.writes[operation]:
            self.left[operation] = -1
            self.push(max(self.memory.read(now)[0] for _ in range(self.record_lines)), READ, operation)
        else:
            self.compute(now, operation)

    def compute(self, now, operation):
        self.compute_free = (now if now > self.compute_free else self.compute_free) + self.cycle
        heapq.heappush(self.heap, (self.compute_free, next(self.numbers), FORWARD, operation))

    def forward(self, now, operation, slot):
        """Hands the value of the operation to the first that waits for its key. Returns false if none does."""
        waiting, keys = self.slots[slot], self.traffic.keys
        for other in waiting:
            if keys[other] == keys[operation]:
                waiting.remove(other)
                self.forwarded += 1
                self.in_card[other] = self.in_card[operation]
                self.compute(now, other)
                return True
        return False

    def step_forward(self, now, operation):
        """The operation has its result. The next one on its key takes the value; else the value is written, if it is new."""
        traffic = self.traffic
        writes = traffic.writes[operation]
        if traffic.station == "on":
            slot = self.slot[operation]
            if writes:
                self.dirty.add(slot)
            if self.forward(now, operation, slot):
                self.finish(now, operation)
                return
            writes = slot in self.dirty
            self.dirty.discard(slot)
        if writes:
            lines = self.record_lines
            done = max(self.memory.write(now, self.in_card[operation]) for _ in range(max(1, lines)))
            if lines:
                done = max(done, self.memory.write(now, self.in_card[operation]))   # the slot that leads to the record
            self.push(done, DONE, operation)
        else:
            self.step_done(now, operation)

    def step_done(self, now, operation):
        """Nothing of the operation is left to do. One that came for its key while it was written takes the value; else the next of its slot
        begins."""
        if self.traffic.station == "on":
            slot = self.slot[operation]
            waiting = self.slots[slot]
            if not waiting:
                del self.slots[slot]
            elif not self.forward(now, operation, slot):
                self.step_read(now, waiting.popleft())
        elif self.traffic.station == "stall":
            key = self.traffic.keys[operation]
            users = self.users[key]
            users[0] -= 1
            users[1] -= self.traffic.writes[operation]
            if not users[0]:
                del self.users[key]
        self.finish(now, operation)

    def finish(self, now, operation):
        """Answers the operation, which leaves room for another in flight."""
        self.in_flight -= 1
        if self.is_blocked:
            self.is_blocked = False
            self.blocked[self.blocked_by] += now - self.blocked_since
            self.front_time = now + self.cycle
        self.answer(now, operation)

    def answer(self, now, operation):
        traffic, card = self.traffic, self.card
        size = traffic.answer_bytes[operation]
        # An answer leaves when the link is free. Where answers share packets, each has its share of a full packet's header.
        size += card.header_bytes * (size / card.payload_bytes if traffic.batched else 1)
        took = size / card.network_bytes_s
        self.answer_free = max(now, self.answer_free) + took
        self.answer_busy += took
        self.finished.append(self.answer_free)
        self.latencies.append(self.answer_free - self.sent[operation])

    def run(self):
        heap, count = self.heap, len(self.traffic)
        steps = (self.step_read, self.step_forward, self.step_done)
        while True:
            if self.front < count and not self.is_blocked and (not heap or self.front_time <= heap[0][0]):
                self.step_front()
            elif heap:
                now, _, event, operation = heapq.heappop(heap)
                steps[event](now, operation)
            else:
                return self.outcome()

    def outcome(self):
        finished, memory, card = self.finished, self.memory, self.card
        first, last = int(len(finished) * WARMUP), int(len(finished) * END) - 1
        seconds = finished[-1]
        busy = {
            "clock": len(finished) * self.cycle,
            "PCIe tags": memory.tag_time / (card.links * card.tags),
            "PCIe bytes": max(memory.down_time, memory.up_time) / card.links,
            "card's memory": memory.dram_busy,
            "network": max(self.request_busy, self.answer_busy),
            **self.blocked,
        }
        return Outcome(
            operations=len(finished),
            rate=(last - first) / (finished[last] - finished[first]) if finished[last] > finished[first] else math.inf,
            forwarded=self.forwarded, most_in_flight=self.most, most_resident=self.most_resident,
            seconds=seconds, latencies=self.latencies[first:last], accesses=dict(memory.count),
            busy={limit: of / seconds for limit, of in busy.items()})


def simulate(card, traffic, random):
    """Runs all operations of the traffic, and returns what was seen. O(operations x log(operations in flight))."""
    return Run(card, traffic, random).run()
