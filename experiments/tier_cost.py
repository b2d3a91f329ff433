"""What counts times costs predict for runs of the tier, from three other runs beside them: near memory alone, DRAM of the total, and a far
memory of another size in DRAM.

    time of an operation = misses x (read + miss) + copies x copy + rest + the time of a modelled medium

    read    the mean time of reading a block from the device, which RocksDB measures in the run itself: other programs move it threefold
    miss    what a miss takes beside: between near memory alone and DRAM of the total, the difference of times over that of misses
    rest    the time with DRAM of the total, less its misses
    copy    what is left of the time with the other far memory, over its copies: blocks that far memory took, and gave

Each of the three runs is the median of its rounds.

A percentile comes from the same parts. The gets of the two runs without a tier are mixed of gets without a miss and gets with one, in known
shares, so these two distributions follow. A get whose block is in far memory is one without a miss, and two copies later.
"""
import statistics
from dataclasses import dataclass

from db_bench import merged, percentile

# Latency in ns, GB/s of reads, GB/s of writes, and bytes of a granule, as the tier's preset has them (docs/two_memories.md).
PRESETS = {"optane": (305, 6.6, 2.3, 256), "cxl": (200, 31.5, 31.5, 64), "remote": (146, 38.4, 38.4, 64)}


@dataclass(frozen=True)
class Costs:
    """In us."""

    rest: float
    miss: float
    copy: float


def together(outcomes):
    """Returns one outcome for the rounds of a point: the median time without reads, all times of gets, and the counts of the first round."""
    return outcomes[0] | {"without_reads_us": statistics.median(without_reads_us(outcome) for outcome in outcomes),
                          "read_histogram": merged(outcome["read_histogram"] for outcome in outcomes)}


def time_us(outcome):
    return 1e6 / outcome["operations_s"]


def reads_us(outcome):
    return each(outcome, "misses") * outcome["block_read_us"] if outcome["misses"] else 0


def without_reads_us(outcome):
    """Returns the time of an operation without that of reading blocks from the device."""
    return time_us(outcome) - reads_us(outcome)


def operations(outcome):
    return outcome["gets"] + outcome["puts"] + outcome["seeks"]


def each(outcome, what):
    return outcome[what] / operations(outcome)


def copies(outcome):
    """Returns the copies from and to far memory, an operation."""
    return (outcome["far"]["blocks_read"] + outcome["far"]["blocks_written"]) / operations(outcome)


def costs_of(small, large, copied):
    """Returns the costs from the runs together of near memory alone, DRAM of the total, and another far memory."""
    time = "without_reads_us"
    miss = (small[time] - large[time]) / (each(small, "misses") - each(large, "misses"))
    rest = large[time] - miss * each(large, "misses")
    return Costs(rest, miss, (copied[time] - rest - miss * each(copied, "misses")) / copies(copied))


def medium_us(outcome, preset):
    """Returns the time that a modelled medium takes for an operation. `preset`: None for DRAM."""
    if preset is None:
        return 0
    latency, read, write, granule = PRESETS[preset]
    total = 0
    for what, rate in (("read", read), ("written", write)):
        blocks, size = outcome["far"][f"blocks_{what}"], outcome["far"][f"bytes_{what}"]
        whole = -(-(size / blocks) // granule) * granule if blocks else 0   # bytes of a block in whole granules
        total += blocks * (latency + whole / rate)
    return total / 1000 / operations(outcome)


def predicted_us(costs, outcome, preset=None):
    """Returns the predicted time of an operation, of which only counts and the mean read of `outcome` are used."""
    return reads_us(outcome) + costs.rest + costs.miss * each(outcome, "misses") + costs.copy * copies(outcome) + medium_us(outcome, preset)


def get_shares(outcome):
    """Returns the shares of gets with a miss and of gets with a hit in far memory, as if seeks had as many of both as gets."""
    reads = outcome["gets"] + outcome["seeks"]
    return min(1, outcome["misses"] / reads), min(1, outcome["far_hits"] / reads)


def distribution(histogram, edges):
    """Returns the share of a histogram in each of the buckets that begin at `edges`."""
    total = sum(count for *_, count in histogram)
    of = {low: count / total for low, _, count in histogram}
    return [of.get(low, 0) for low in edges]


def predicted_percentile(costs, small, large, outcome, percent, preset=None):
    """Returns the predicted percentile of the time of a get in us."""
    bounds = {low: high for one in (small, large) for low, high, _ in one["read_histogram"]}
    edges = sorted(bounds)
    a, b = (distribution(one["read_histogram"], edges) for one in (small, large))
    share_a, share_b = get_shares(small)[0], get_shares(large)[0]
    # a = share_a missing + (1 - share_a) present, and so b: two equations for two unknowns in each bucket.
    of = share_a - share_b
    missing = [max(0, ((1 - share_b) * x - (1 - share_a) * y) / of) for x, y in zip(a, b, strict=True)]
    present = [max(0, (share_a * y - share_b * x) / of) for x, y in zip(a, b, strict=True)]
    missing, present = ([x / sum(part) for x in part] for part in (missing, present))
    misses, far = get_shares(outcome)
    reads = outcome["far"]["blocks_read"] or 1
    later = 2 * costs.copy + medium_us(outcome, preset) * operations(outcome) / reads   # a block comes and another goes
    parts = 20   # of a bucket, so that a shift moves a part of it
    mixed = []
    for low, without, having in zip(edges, present, missing, strict=True):
        width = (bounds[low] - low) / parts
        for part in range(parts):
            start = low + part * width
            mixed += [(start, start + width, without * (1 - misses - far) / parts), (start + later, start + later + width, without * far / parts),
                      (start, start + width, having * misses / parts)]
    return percentile(sorted(mixed), percent)
