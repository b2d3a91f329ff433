"""Throughput, power and cost of a server whose shards read blocks from DRAM, from a slower memory, and from flash.

An operation takes processor time, and looks a number of blocks up. A look-up hits near memory (DRAM), far memory, or reads flash:

    near hit    no more time
    far hit     the processor waits: latency + bytes / bandwidth of a module
    miss        the thread waits for flash, and the processor does other work

A block that near memory misses drives another one out to far memory, and the processor waits for that write. Hits follow from a curve: the
share of look-ups that hit, by the cache's share of the data. Near and far memory together hit as DRAM of the same total, but for a factor.

The rate is the least of five limits, each of which is met as if the others were not there: no queue forms. So it is an upper bound.

All functions take `values`, numbers by the names of the rows of servers.toml and prices.toml.
"""
import math
from dataclasses import dataclass

MACHINES = ("small", "hybrid", "large")
LIMITS = ("processors", "requests", "flash reads", "far reads", "far writes")
HOURS = 365.25 * 24   # of a year
NS_PER_US, US_PER_S, PERCENT, BYTES_PER_GB, W_PER_KW = 1e3, 1e6, 100, 1e9, 1e3


@dataclass(frozen=True)
class Load:
    """A load: how many of its look-ups hit a cache, and how many look-ups an operation makes (None: as mixgraph's)."""

    name: str
    shares: tuple         # of the cache in the data, ascending
    hits: tuple           # shares of look-ups that hit
    lookups: float | None = None

    def hit(self, share):
        """Returns the share of look-ups that hit a cache with this share of the data: linear in the logarithm between counts, and that of the
        nearest count outside of them."""
        if share <= self.shares[0]:
            return self.hits[0]
        for low, high, hit, more in zip(self.shares, self.shares[1:], self.hits, self.hits[1:], strict=False):
            if share <= high:
                return hit + (more - hit) * math.log(share / low) / math.log(high / low)
        return self.hits[-1]

    def covers(self, share):
        """True if there are counts on both sides of the share."""
        return self.shares[0] <= share <= self.shares[-1]


@dataclass(frozen=True)
class Outcome:
    rate: float         # operations a second
    limit: str          # the word of LIMITS that sets the rate
    limits: dict        # operations a second that each allows
    latency_us: float   # mean of an operation that waits for no other
    busy: float         # share of the processors' time
    counted: bool       # the counts cover both sizes of cache


def fit(xs, ys):
    """Returns a and b of y = a + b * x by least squares, each as (value, least, most) where one of the points is left out in turn."""
    def line(points):
        middle_x, middle_y = (sum(column) / len(points) for column in zip(*points, strict=True))
        slope = sum((x - middle_x) * (y - middle_y) for x, y in points) / sum((x - middle_x) ** 2 for x, _ in points)
        return middle_y - slope * middle_x, slope

    points = list(zip(xs, ys, strict=True))
    without = [line(points[:i] + points[i + 1:]) for i in range(len(points))]
    return tuple((value, min(*others, value), max(*others, value)) for value, *others in zip(line(points), *without, strict=True))


def cache_gb(values, machine):
    """Returns the block cache in near and in far memory, in GB."""
    near = values[f"machine.{machine}.dram"] * values["cache.dram"]
    return near, values[f"machine.{machine}.far"] * values["cache.far"]


def hits_of(values, machine, load, shards):
    """Returns the shares of look-ups that hit near memory, that hit far memory, and that miss."""
    data = shards * values["shard.size"]
    near, far = cache_gb(values, machine)
    near_hit = load.hit(near / data)
    if not far:
        return near_hit, 0, 1 - near_hit
    miss = min(1 - near_hit, values["tier.misses"] * (1 - load.hit((near + far) / data)))
    return near_hit, 1 - near_hit - miss, miss


def most_shards(values, machine):
    """Returns how many shards the flash of a machine holds."""
    return math.floor(values[f"machine.{machine}.sockets"] * values["flash.size"] * values["flash.fill"] / values["shard.size"])


def outcome(values, machine, load, shards, without=()):
    """Returns the throughput of a machine with so many shards. `without`: words of LIMITS that do not count."""
    near_hit, far_hit, miss = hits_of(values, machine, load, shards)
    data, (near, far) = shards * values["shard.size"], cache_gb(values, machine)
    lookups = values["cost.miss"] / values["mixgraph.flash"] if load.lookups is None else load.lookups
    block, sockets = values["block.size"], values[f"machine.{machine}.sockets"]
    far_reads, far_writes = lookups * far_hit, lookups * (1 - near_hit) * values["tier.writes"] if far else 0
    copy_us = {way: (values["far.latency"] + block / values[f"far.{way}"]) / NS_PER_US for way in ("read", "write")}
    processor_us = values["cost.operation"] / values["processor.speed"] + far_reads * copy_us["read"] + far_writes * copy_us["write"]
    latency_us = processor_us + lookups * miss * values["flash.latency"]
    modules = values[f"machine.{machine}.far"] / values["far.module"]

    def blocks(gb_s, an_operation):
        return gb_s * BYTES_PER_GB / block / an_operation if an_operation else math.inf

    cores = sockets * values["processor.cores"]
    limits = {
        "processors": cores / processor_us * US_PER_S,
        "requests": shards * values["shard.threads"] / latency_us * US_PER_S,
        "flash reads": blocks(sockets * values["flash.read"], lookups * miss),
        "far reads": blocks(modules * values["far.read"], far_reads),
        "far writes": blocks(modules * values["far.write"], far_writes),
    }
    rate, limit = min((rate, name) for name, rate in limits.items() if name not in without)
    counted = load.covers(near / data) and load.covers((near + far) / data)
    return Outcome(rate, limit, limits, latency_us, min(1, rate * processor_us / US_PER_S / cores), counted)


def purchase(values, machine):
    """Returns the price of a machine, in dollars."""
    sockets = values[f"machine.{machine}.sockets"]
    return (values["server.price"] + (sockets - 1) * values["socket.price"] + sockets * values["processor.price"]
            + values[f"machine.{machine}.dram"] * values["dram.price"] + values[f"machine.{machine}.far"] * values["far.price"]
            + sockets * values["flash.size"] * values["flash.price"])


def watts(values, machine, busy):
    """Returns the power of a machine whose processors are busy for this share of the time."""
    sockets, idle = values[f"machine.{machine}.sockets"], values["processor.idle"]
    return (values["server.watts"] + (sockets - 1) * values["socket.watts"] + sockets * values["processor.watts"] * (idle + (1 - idle) * busy)
            + values[f"machine.{machine}.dram"] * values["dram.watts"] + values[f"machine.{machine}.far"] * values["far.watts"]
            + sockets * values["flash.watts"])


def lifetime(values, machine, busy):
    """Returns the price of a machine and of its energy, in dollars."""
    hours = values["life.years"] * HOURS
    return purchase(values, machine) + watts(values, machine, busy) / W_PER_KW * hours * values["energy.price"] * values["energy.overhead"]


def gain(values, load, shards, machine="hybrid", than="small"):
    """Returns by how many percent a machine serves more operations a second than another with as many shards."""
    return PERCENT * (outcome(values, machine, load, shards).rate / outcome(values, than, load, shards).rate - 1)


def cheaper(values, cost=purchase, machine="hybrid", than="large"):
    """Returns by how many percent a machine costs less than another."""
    return PERCENT * (1 - cost(values, machine) / cost(values, than))


def cheaper_an_operation(values, load, shards, machine="hybrid", than="large"):
    """Returns by how many percent an operation a second costs less on one machine than on the other. shards: name -> number."""
    cost = {name: purchase(values, name) / outcome(values, name, load, shards[name]).rate for name in (machine, than)}
    return PERCENT * (1 - cost[machine] / cost[than])


def break_even(values, load, shards, than, machine="hybrid"):
    """Returns the price of far memory, in $/GB, at which an operation a second costs the same on both machines; below it, the machine with far
    memory is cheaper. None: not even if far memory were free. shards: name -> number."""
    rates = {name: outcome(values, name, load, shards[name]).rate for name in (machine, than)}
    free = purchase(values | {"far.price": 0}, machine)
    return (rates[machine] / rates[than] * purchase(values, than) - free) / values[f"machine.{machine}.far"]


def needed(values, name, percent):
    """Returns the value of an input at which the hybrid is cheaper than the large machine by so many percent, with all else as it is. None: no
    value from 0 on does so. Costs are linear in each price, so the condition is a line in it."""
    def over(value):
        at = values | {name: value}
        return purchase(at, "hybrid") - (1 - percent / PERCENT) * purchase(at, "large")

    at_zero = over(0)
    slope = over(1) - at_zero
    if slope == 0:
        return None
    value = -at_zero / slope
    return value if value >= 0 else None
