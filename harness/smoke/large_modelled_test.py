"""A data set of 64 M keys on a modelled machine, whose memory must stay below 20 GB. ./test --all runs it; it takes ten minutes."""

import resource
import sys
import unittest

import modelled_machine_test as modelled

GB = 1e9
MOST = 20 * GB


def available():
    with open("/proc/meminfo", encoding="utf-8") as file:
        return 1024 * int(next(line.split()[1] for line in file if line.startswith("MemAvailable:")))


class LargeModelled(unittest.TestCase):
    def test_64_m_keys_take_at_most_20_gb(self):
        run = modelled.document("--machine=haswell-ep", "--index=art", "--sync=rtm:20", "--threads=56", "--records=64M", "--time=1ms",
                                "--json", "--progress=none", timeout=3000)
        self.assertEqual((run["status"], run["config"]["records"]), ("modelled", 64_000_000))
        print(f"{run['throughput']['per_second'] / 1e6:.1f} M/s at scale 1")
        self.assertLess(1024 * resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, MOST)


if __name__ == "__main__":
    if available() < MOST:
        print(f"skipped: {MOST / GB:.0f} GB of memory are needed, {available() / GB:.0f} GB are available")
        sys.exit(77)
    unittest.main()
