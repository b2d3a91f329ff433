"""A program beside a server (co_runner.py): python3 neighbour.py scalar|memory. It does the same piece of work again and again, and prints
a line for each: when it ended (CLOCK_MONOTONIC, ns), and the processor time that it took (ns).

    scalar    arithmetic on a few numbers: needs the core alone
    memory    copies 8 MiB of 256: needs the bandwidth of the memory, and what is left of the caches
"""
import itertools
import sys
import time

COPIED, ALL = 8 << 20, 256 << 20
ADDITIONS = 200_000


def scalar():
    total = 0
    for number in range(ADDITIONS):
        total += number & 7
    return total


def memory():
    """Returns a function that copies the next part of a memory to another."""
    source, target = memoryview(bytearray(b"x") * ALL), memoryview(bytearray(ALL))
    parts = itertools.cycle(range(0, ALL, COPIED))

    def copy():
        part = next(parts)
        target[part:part + COPIED] = source[part:part + COPIED]

    return copy


def main(kind):
    work = scalar if kind == "scalar" else memory()
    while True:
        begin = time.thread_time_ns()
        work()
        print(time.monotonic_ns(), time.thread_time_ns() - begin, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
