"""RocksDB's db_bench as experiments run it: loads, databases that are kept, runs with the tier preloaded, and what they printed."""
import contextlib
import dataclasses
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

from child import ends_with_us
from input_error import InputError

KEY_BYTES, VALUE_BYTES, SEED = 48, 43, 7
# Reads and writes go to the device, not to the kernel's cache of files, so that a miss of the block cache costs what it costs.
COMMON = [f"--key_size={KEY_BYTES}", f"--value_size={VALUE_BYTES}", "--compression_type=none", "--use_direct_reads=true",
          "--use_direct_io_for_flush_and_compaction=true", "--cache_numshardbits=2"]
FILLS = {"order": "fillseq", "random": "fillrandom"}

# The published parameters of mixgraph (Z. Cao et al., FAST 2020; scripts beside RocksDB). `social-graph` has the published exponent of the
# density of accesses, -.7094, which db_bench takes as that of the distribution function: then one key gets all but .2 % of the accesses. The
# distribution function of a density a x^b over N keys is (x / N)^(b + 1).
PREFIX = {"key_dist_a": 0.002312, "key_dist_b": 0.3467, "keyrange_num": 30, "keyrange_dist_a": 14.18, "keyrange_dist_b": -2.917,
          "keyrange_dist_c": 0.0164, "keyrange_dist_d": -0.08082, "value_k": 0.2615, "value_sigma": 25.45, "iter_k": 2.517, "iter_sigma": 14.236}
SOCIAL = {"key_dist_b": 0.2906, "value_k": 0.923, "value_sigma": 226.409, "value_theta": 0, "iter_k": 0.0819, "iter_sigma": 1.747}
UNIFORM = {name: PREFIX[name] for name in ("value_k", "value_sigma", "iter_k", "iter_sigma")}
MIXES = {"prefix-dist": (.83, .14, .03), "social-graph": (.83, .14, .03), "prefix-dist-95": (.95, .04, .01), "half-writes": (.5, .5, 0),
         "half-writes-uniform": (.5, .5, 0)}   # shares of gets, puts and seeks


class RunFailed(Exception):
    """A run that ended without a result, with a message of one line."""


def load_options(load, keys, operations):
    """Returns the options of db_bench for a load."""
    gets, puts, seeks = MIXES[load]
    shape = {"social-graph": SOCIAL | {"key_dist_a": keys ** -SOCIAL["key_dist_b"]}, "half-writes-uniform": UNIFORM}.get(load, PREFIX)
    words = [f"--{name}={value}" for name, value in shape.items()]
    if load == "half-writes":
        # Flushes and compactions come as often, by the size of the data, as with 64 MiB of buffer and 50 M keys.
        buffer = max(64 << 10, (64 << 20) * keys // 50_000_000)
        words += [f"--write_buffer_size={buffer}", f"--target_file_size_base={buffer}", f"--max_bytes_for_level_base={4 * buffer}"]
    return [*words, "--benchmarks=mixgraph", f"--reads={operations}", f"--mix_get_ratio={gets}", f"--mix_put_ratio={puts}",
            f"--mix_seek_ratio={seeks}"]


def run(words, environment=None):
    """Runs db_bench. Returns what it printed, and the resources of its process, as os.wait4 does. Raises RunFailed."""
    return run_together([(words, environment)])[0]


def run_together(commands):
    """Runs processes of db_bench side by side, each with its words and its environment. Returns what run returns, for each. Raises RunFailed
    when all have ended."""
    with contextlib.ExitStack() as files:
        started = []
        for words, environment in commands:
            out, error = (files.enter_context(tempfile.TemporaryFile("w+", errors="replace")) for _ in range(2))
            started.append((subprocess.Popen(words, stdout=out, stderr=error, env=environment, preexec_fn=ends_with_us()), out, error))
        ended = [(os.wait4(process.pid, 0), out, error) for process, out, error in started]
        for process, ((_, status, _), _, _) in zip((process for process, *_ in started), ended, strict=True):
            process.returncode = os.waitstatus_to_exitcode(status)   # nobody waits for it again
        return [(checked_output(os.waitstatus_to_exitcode(status), out, error), usage) for (_, status, usage), out, error in ended]


WRONG = re.compile(r"^.*(?:No secondary cache registered|open error|(?:put|get|multiget) error|Corruption).*", re.MULTILINE)


def checked_output(status, out, error):
    """Returns the output of a process that has ended well. Raises RunFailed."""
    out.seek(0)
    error.seek(0)
    text, said = out.read(), [line for line in re.split("[\r\n]", error.read()) if line.strip() and not line.startswith("... finished")]
    wrong = WRONG.search("\n".join(said)) or WRONG.search(text)
    if status != 0 or wrong:
        raise RunFailed(wrong[0].strip() if wrong else f"db_bench ended with status {status}: {said[-1].strip() if said else 'it said nothing'}")
    return text


def version(program):
    return run([program, "--version"])[0].split()[-1]


class Databases:
    """The folder of kept databases. A database is known by its parameters; runs get a copy of it."""

    def __init__(self, folder, program):
        self.folder, self.program = folder, program

    def of(self, keys, fill):
        """Returns the folder of a database, which it makes if it is not there."""
        words = [f"--benchmarks={FILLS[fill]},compact", f"--num={keys}", f"--seed={SEED}", *COMMON]
        made_by = {"db_bench": version(self.program), "options": words}
        folder = self.folder / f"{keys}-{fill}-{hashlib.sha256(json.dumps(made_by).encode()).hexdigest()[:12]}"
        if not folder.exists():
            self.folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(prefix="making-", dir=self.folder) as making:
                new = pathlib.Path(making) / "db"
                run([self.program, f"--db={new}", *words])
                try:
                    new.rename(folder)
                except OSError:   # another process has made it meanwhile
                    if not folder.exists():
                        raise
        return folder

    def copy(self, source, target):
        """Copies a database. Its tables never change, so the copy links to them."""
        target.mkdir()
        for file in source.iterdir():
            if file.suffix == ".sst":
                os.link(file, target / file.name)
            elif file.name != "LOCK":
                shutil.copy2(file, target / file.name)


def bytes_of(database):
    """Returns the bytes of the tables of a database."""
    return sum(file.stat().st_size for file in database.glob("*.sst"))


@dataclasses.dataclass(frozen=True)
class Printed:
    """What db_bench says of a run of mixgraph."""

    operations_s: float
    seconds: float
    gets: int
    puts: int
    seeks: int
    tickers: dict         # counts, by name without "rocksdb."
    block_read_us: float  # the mean time of reading a block from the device
    read_histogram: list  # [above, up to, count]: us of a get, with db_bench's own work between operations


def parsed(text):
    """Returns what a run of mixgraph printed. Raises RunFailed."""
    line = re.search(r"^mixgraph +: +[\d.]+ micros/op (\d+) ops/sec ([\d.]+) seconds \d+ operations;.*"
                     r"Gets:(\d+) Puts:(\d+) Seek:(\d+)", text, re.MULTILINE)
    if not line:
        raise RunFailed("db_bench printed no line of mixgraph")
    tickers = {name: int(count) for name, count in re.findall(r"^rocksdb\.([a-z.0-9]+) COUNT : (\d+)$", text, re.MULTILINE)}
    reads = re.search(r"^rocksdb\.read\.block\.get\.micros .*COUNT : (\d+) SUM : (\d+)$", text, re.MULTILINE)
    for name in ("block.cache.data.miss", "block.cache.data.hit", "secondary.cache.hits"):
        if name not in tickers:
            raise RunFailed(f"db_bench printed no count of {name}")
    buckets = text.partition("Microseconds per read:\n")[2].partition("Microseconds per ")[0]
    histogram = [[float(low), float(high), int(count)] for low, high, count in
                 re.findall(r"^[(\[] *([\d.]+), *([\d.]+) \] +(\d+) ", buckets, re.MULTILINE)]
    count, total = map(int, reads.groups()) if reads else (0, 0)
    return Printed(float(line[1]), float(line[2]), *map(int, line.groups()[2:]), tickers, total / count if count else None, histogram)


def merged(histograms):
    """Returns one histogram for several."""
    counts = {}
    for low, high, count in (bucket for histogram in histograms for bucket in histogram):
        counts[low, high] = counts.get((low, high), 0) + count
    return [[low, high, count] for (low, high), count in sorted(counts.items())]


def percentile(histogram, percent):
    """Returns the value up to which so many of the counted values are: within a bucket by its share, as RocksDB does. None of none."""
    left = sum(count for *_, count in histogram) * percent / 100
    for low, high, count in histogram:
        if count >= left and count:
            return low + (high - low) * left / count
        left -= count
    return None


def busy_ms(folder):
    """Returns how many ms the folder's device was busy since the system began; None if the kernel does not tell."""
    device = os.stat(folder).st_dev
    try:
        return int(pathlib.Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}/stat").read_text().split()[9])
    except (OSError, IndexError, ValueError):
        return None


def found():
    """Returns the path of db_bench. Raises InputError."""
    program = shutil.which("db_bench")
    if program is None:
        raise InputError("there is no db_bench here; install rocksdb-tools")
    return program


def output(words):
    """Returns the output of a command that may fail; empty without one."""
    return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False).stdout.strip()
