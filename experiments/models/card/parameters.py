"""The inputs of the model: parameters.toml with a source for each, and cards that differ from KV-Direct's.

A Card is what the simulator and the closed forms know. `without` takes a limit away: a model in which it is still the limit is wrong.
"""
import dataclasses
import math
import pathlib
import tomllib
from dataclasses import dataclass

FOLDER = pathlib.Path(__file__).resolve().parent
TAGS = ("stated", "talk", "digitised", "derived", "inferred", "vendor", "assumed")


@dataclass(frozen=True)
class Input:
    """A value with where it is from."""

    name: str
    value: float
    tag: str
    source: str


def read_inputs(path=FOLDER / "parameters.toml"):
    """Returns the inputs of a file by their names. Raises ValueError for one without a source or with an unknown tag."""
    inputs = {}
    for name, table in tomllib.loads(path.read_text()).items():
        if set(table) != {"value", "tag", "source"} or table["tag"] not in TAGS or not table["source"]:
            raise ValueError(f"{path.name}: {name} has not just a value, a source, and one of the tags {', '.join(TAGS)}")
        inputs[name] = Input(name, **table)
    return inputs


@dataclass(frozen=True)
class Card:
    """A network card that serves a store in the memory of its host. Times in seconds, rates a second."""

    clock_hz: float
    pipeline_cycles: int
    links: int
    tags: float               # on a link
    read_latency_s: float
    pcie_bytes_s: float       # all links together, in each direction
    tlp_bytes: int
    tags_for_writes: bool     # a write takes a tag as long as a read does
    line_bytes: int
    dram_bytes_s: float
    dram_latency_s: float
    dram_capacity_bytes: float
    store_bytes: float
    network_bytes_s: float    # in each direction
    header_bytes: int
    payload_bytes: int
    operation_bytes: int
    station_slots: int
    in_flight: float

    @property
    def cycle(self):
        return 1 / self.clock_hz

    @property
    def lines_hz(self):
        """Accesses of a line by PCIe, reads and writes of one budget."""
        return self.links * self.tags / self.read_latency_s

    def changed(self, **values):
        return dataclasses.replace(self, **values)

    def without(self, limit):
        """Returns the card without one of the limits, which are the keys of REMOVALS."""
        return self.changed(**REMOVALS[limit])


REMOVALS = {
    "clock": {"clock_hz": math.inf},
    "PCIe tags": {"tags": math.inf},
    "PCIe bytes": {"pcie_bytes_s": math.inf},
    "card's memory": {"dram_bytes_s": math.inf},
    "network": {"network_bytes_s": math.inf},
    "operations in flight": {"in_flight": math.inf},
}


INPUTS = read_inputs()


def value(name):
    """Returns the value of an input of parameters.toml."""
    return INPUTS[name].value


def kv_direct():
    """Returns KV-Direct's own card."""
    return Card(**{field.name: value(field.name) for field in dataclasses.fields(Card)})
