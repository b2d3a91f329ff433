"""A workload in the words of the harness (--workload, --dist, --value-size, --records), as far as the card knows them, or a trace."""
import pathlib
import re
import struct
from dataclasses import dataclass

import numpy

from input_error import InputError
from models.card import chains
from models.card.parameters import value

GETS = ("read",)
WRITES = ("insert", "update", "upsert", "erase", "rmw", "modify", "increment")
YCSB = {"ycsb-a": (50, "zipf:0.99"), "ycsb-b": (5, "zipf:0.99"), "ycsb-c": (0, "zipf:0.99"), "ycsb-d": (5, "zipf:0.99"),
        "ycsb-f": (50, "zipf:0.99")}   # percent of writes, and popularity; that of ycsb-d is by age, which a card does not see
WORDS = f"lookup, mix:..., {', '.join(YCSB)}, trace:FILE"
UNITS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30}
KEY = 8             # bytes of a key of the harness
MOST_BYTES = 64 << 10   # of a value: larger ones are simulated line by line for minutes
MOST = 200_000      # operations of a trace that are simulated
HEADER = struct.Struct("<8sIIQQQQQQ")   # workloads/trace.cc
OPERATION = numpy.dtype([("time", "<u8"), ("key", "<u4"), ("rest", "<u4")])   # the kind is the highest byte of rest
KINDS = ("read", "insert", "update", "upsert", "erase", "scan", "rmw", "multi_get", "modify", "increment")   # workloads/op.h


@dataclass
class Workload:
    workload: str              # the words of --workload and --dist; dist is None for a trace
    dist: str | None
    writes: float              # share of operations
    zipf: float
    value_bytes: int
    records: int
    is_given: bool             # false: the number of records is the default
    keys: object = None        # of a trace, and which operations write; else None
    changes: object = None

    @property
    def words(self):
        return f"--workload={self.workload}" + (f" --dist={self.dist}" if self.dist else "") + f" --value-size={self.value_bytes}"

    @property
    def pair_bytes(self):
        return KEY + self.value_bytes

    @property
    def shares(self):
        """The share of each key among the operations of a trace, or None."""
        return None if self.keys is None else numpy.unique(self.keys, return_counts=True)[1] / len(self.keys)

    def table(self, card):
        """Returns the table with the fewest accesses that holds the pairs, and its bytes. It has as much memory as KV-Direct's utilisation
        asks for, or the whole store if that is less. Raises InputError if the pairs do not fit into the store."""
        table = chains.tightest(self.pair_bytes, value("utilisation"))
        stored = self.records * table.stored_bytes
        if stored <= value("utilisation") * card.store_bytes:
            return table, stored / value("utilisation")
        try:
            return chains.tightest(self.pair_bytes, min(self.records * table.stored_bytes / card.store_bytes, 1.0)), card.store_bytes
        except ValueError:
            raise InputError(f"--records={self.records}: with values of {self.value_bytes} bytes they do not fit into the card's store of "
                             f"{card.store_bytes / 2**30:.0f} GiB") from None


def size_of(option, text, least):
    """Returns a number of the harness's: 16M, 1Ki."""
    found = re.fullmatch(r"(\d+)(|k|M|G|Ki|Mi|Gi)", text)
    number = int(found[1]) * UNITS[found[2]] if found else -1
    if number < least:
        raise InputError(f"--{option}={text}: is not a whole number from {least} on, such as 100, 16M or 1Ki")
    return number


def share_of_writes(words):
    """Returns the share of writes, and the popularity that the workload brings along."""
    if words == "lookup":
        return 0.0, "uniform"
    if words in YCSB:
        percent, dist = YCSB[words]
        return percent / 100, dist
    name, _, parts = words.partition(":")
    if name != "mix":
        raise InputError(f"--workload={words}: the model knows {WORDS}")
    shares = {}
    for part in parts.split(","):
        kind, _, text = part.partition("=")
        if kind in shares:
            raise InputError(f"--workload={words}: {kind} is given twice")
        if kind in ("multi_get", "multi_get_keys"):
            raise InputError(f"--workload={words}: a multi-get is a GET for each key, which the model has as read")
        if kind == "scan":
            raise InputError(f"--workload={words}: a hash table has no order, so the model has no scans")
        if kind not in GETS + WRITES:
            raise InputError(f"--workload={words}: there is no operation '{kind}'; there are {', '.join(GETS + WRITES)}")
        if not re.fullmatch(r"\d+(\.\d+)?", text):
            raise InputError(f"--workload={words}: {kind}={text} is not a percentage")
        shares[kind] = float(text)
    if abs(sum(shares.values()) - 100) > 1e-9:
        raise InputError(f"--workload={words}: the percentages sum to {sum(shares.values()):g}, not to 100")
    return sum(shares.get(kind, 0) for kind in WRITES) / 100, "uniform"


def zipf_of(dist):
    """Returns Zipf's exponent; 0 for uniform keys."""
    if dist == "uniform":
        return 0.0
    if found := re.fullmatch(r"zipf:(\d+(\.\d+)?)", dist):
        return float(found[1])
    raise InputError(f"--dist={dist}: the model knows uniform and zipf:Q")


def read_trace(path):
    """Returns the keys of a trace's first operations, and which of them write. Raises InputError."""
    file = pathlib.Path(path)
    try:
        size = file.stat().st_size
        with file.open("rb") as opened:
            head = opened.read(HEADER.size)
            if len(head) < HEADER.size or head[:8] != b"latchtrc":
                raise InputError(f"--workload=trace:{path}: is not a Latchlab trace; harness trace convert makes one from other formats")
            _, version, _, operations, keys, _, key_bytes, _, _ = HEADER.unpack(head)
            begin = HEADER.size + 8 * keys + (key_bytes + 7) // 8 * 8
            if version != 1 or size != begin + OPERATION.itemsize * operations or not operations:
                raise InputError(f"--workload=trace:{path}: is damaged, empty or of another version; harness trace info says which")
            opened.seek(begin)
            ops = numpy.frombuffer(opened.read(OPERATION.itemsize * min(MOST, operations)), OPERATION)
    except OSError as error:
        raise InputError(f"--workload=trace:{path}: cannot be read: {error.strerror}") from None
    kinds = ops["rest"] >> 24
    if (kinds >= len(KINDS)).any():
        raise InputError(f"--workload=trace:{path}: has an operation of an unknown kind")
    if (kinds == KINDS.index("scan")).any():
        raise InputError(f"--workload=trace:{path}: a hash table has no order, so the model has no scans")
    if (kinds == KINDS.index("multi_get")).any():
        raise InputError(f"--workload=trace:{path}: has multi-gets, whose number of keys the model does not take from a trace")
    writes = numpy.isin(kinds, [KINDS.index(kind) for kind in WRITES])
    return ops["key"].astype(numpy.int64), writes, keys


def workload_of(options):
    """Returns the workload of these options: name without dashes -> text. Raises InputError."""
    words = options.get("workload", "lookup")
    value_bytes = size_of("value-size", options.get("value-size", "8"), 0)
    if value_bytes > MOST_BYTES:
        raise InputError(f"--value-size={options['value-size']}: values of the model have {MOST_BYTES >> 10}Ki at most")
    if words.startswith("trace:"):
        for name in ("dist", "records"):
            if name in options:
                raise InputError(f"--{name}={options[name]}: a trace has its own")
        keys, changes, records = read_trace(words.removeprefix("trace:"))
        return Workload(words, None, float(changes.mean()), 0.0, value_bytes, int(records), False, keys, changes)
    writes, dist = share_of_writes(words)
    dist = options.get("dist", dist)
    zipf = zipf_of(dist)
    stored = chains.tightest(KEY + value_bytes, value("utilisation")).stored_bytes
    full = int(value("utilisation") * value("store_bytes") / stored)   # as many as fill the store to the default
    records = size_of("records", options["records"], 1) if "records" in options else full
    return Workload(words, dist, writes, zipf, value_bytes, records, "records" in options)
