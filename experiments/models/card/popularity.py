"""How popular keys are: uniform and Zipf, by numbers of keys that no table could hold.

Rank r of n has the weight r^-q. The first HEAD ranks are exact, and the rest follows Euler and Maclaurin. So the sum over 10^10 ranks takes
as long as that over a thousand, with an error below 10^-10.
"""
import math

import numpy

HEAD = 1000


def tail(n, q):
    """Returns the integral of r^-q from HEAD to n."""
    return math.log(n / HEAD) if q == 1 else (n ** (1 - q) - HEAD ** (1 - q)) / (1 - q)


def total(n, q):
    """Returns the weight of n ranks."""
    first = numpy.arange(1, min(int(n), HEAD) + 1.0) ** -q
    if n <= HEAD:
        return float(first.sum())
    return float(first.sum()) + tail(n, q) + (n ** -q - HEAD ** -q) / 2 + q * (HEAD ** (-q - 1) - n ** (-q - 1)) / 12


def ranks_at(places, n, q):
    """Returns the ranks, from 0 on, at these places from 0 to 1 of Zipf's distribution. O(places)."""
    weights = numpy.cumsum(numpy.arange(1, min(n, HEAD) + 1.0) ** -q)
    at = places * total(n, q)
    in_head = at < weights[-1]
    ranks = numpy.empty(len(places), dtype=numpy.int64)
    ranks[in_head] = numpy.searchsorted(weights, at[in_head], side="right")
    rest = numpy.maximum(at[~in_head] - weights[-1], 0)
    # The integral from HEAD + 1/2 on is the weight of the ranks behind HEAD: the midpoint rule.
    begin = HEAD + 0.5
    places = begin * numpy.exp(rest) if q == 1 else (rest * (1 - q) + begin ** (1 - q)) ** (1 / (1 - q))
    ranks[~in_head] = numpy.clip(numpy.rint(places) - 1, HEAD, max(n - 1, HEAD))
    return ranks


def mean_over_ranks(n, q, of, points=4000):
    """Returns the mean of of(share of a rank) over accesses: by each of the first ranks, and by steps of equal ratio behind them."""
    weight = total(n, q)
    first = numpy.arange(1, min(int(n), HEAD) + 1.0) ** -q / weight
    mean = float((first * of(first)).sum())
    if n > HEAD:
        edges = numpy.geomspace(HEAD + 0.5, n + 0.5, points)
        middle = numpy.sqrt(edges[1:] * edges[:-1]) ** -q / weight
        mean += float((middle * of(middle) * numpy.diff(edges)).sum())
    return mean


def direct_mapped_hits(random, n, q, rivals, size=200_000):
    """Returns the hit ratio of a cache in which `rivals` other lines, in the mean, share the place of each. A line is there if it was the
    last of them that was used, so its share among them is its chance."""
    weights = (ranks_at(random.random(size), n, q) + 1.0) ** -q
    return hits_beside(random, weights, rivals, lambda count: (random.random(count) * n + 1) ** -q)


def direct_mapped_hits_of(random, shares, rivals, size=200_000):
    """Returns the same for keys with these shares of the operations."""
    drawn = random.choice(len(shares), size, p=shares / shares.sum())
    return hits_beside(random, shares[drawn], rivals, lambda count: shares[random.integers(0, len(shares), count)])


def hits_beside(random, weights, rivals, draw):
    """Returns the mean of weight / (weight + those of its rivals, which `draw` gives)."""
    counts = random.poisson(rivals, len(weights))
    owners = numpy.repeat(numpy.arange(len(weights)), counts)
    others = numpy.bincount(owners, draw(len(owners)), len(weights))
    return float((weights / (weights + others)).mean())
