"""The figure of published numbers beside the model's, in the style of all figures: figure.py draws it from panels of ours."""
import pathlib

import definition
from models.card.parameters import value

SOURCE = ("published: B. Li et al., KV-Direct, SOSP 2017, read from its figures, and its talk; the model: ./bench model kv-direct, which "
          "has the source of each input")


# Published numbers that are inputs, and so have no row.
GIVEN = {
    "batching/average-alone": 1e6 * value("single_latency_s"),
    "host/random-idle": value("host_random_bytes_s") / 1e9,
    "host/sequential-idle": value("host_sequential_bytes_s") / 1e9,
}


class Derived(definition.Experiment):
    """An experiment of which nothing was run."""

    def notes(self):
        return [f"lines, bars and filled markers: the model, means of {self.replicates} seeds; hollow markers: published"]


def panel(title, x_title, y_title, curves, numbers, rows, steps=False, y_log=False, note=""):
    """Returns a panel and its rows. `curves`: name -> [(x, row), ...]."""
    published = {row.row: row.value for row in rows} | GIVEN
    only_published = {row.row for row in rows if row.quoted} | (set(GIVEN) - set(numbers))
    places = list(dict.fromkeys(x for points in curves.values() for x, _ in points))
    of = definition.Panel(title=title, option="x", x_title=x_title, x=places, scale="steps" if steps else "linear", y="", y_title=y_title,
                          curves=[definition.Curve(name, [], []) for name in curves], y_log=y_log, note=note)
    drawn = []
    for name, points in curves.items():
        drawn += [{"curve": name, "x": x, "y": numbers[row].best} for x, row in points if row not in only_published]
        if beside := [(x, published[row]) for x, row in points if row in published]:
            of.beside.append((f"{name} (published)", beside))
    return of, drawn


def panels(numbers, rows):
    """Returns all panels with their rows."""
    sizes = ("5", "10", "15", "62", "126", "254")

    def by_size(group):
        return {name: [(size, f"{group}/{name.lower()}-{size}") for size in sizes] for name in ("GET", "PUT")}

    return [
        panel("Accesses of an operation, pairs of 10 bytes", "utilisation, percent", "accesses of 64 bytes",
              {name: [(x, f"accesses/{of}-{x}") for x in range(30, 70, 5)] for name, of in (("GET", "get"), ("PUT of a new key", "put"))},
              numbers, rows),
        panel("Uniform keys", "bytes of a pair", "million operations a second", by_size("uniform"), numbers, rows, steps=True),
        panel("Zipf .99", "bytes of a pair", "million operations a second", by_size("zipf"), numbers, rows, steps=True),
        panel("Atomics on one key", "", "million operations a second",
              {"rate": [("with the station", "station/atomics"), ("each waits for the last", "station/atomics-stalled")]}, numbers, rows,
              y_log=True),
        panel("Zipf .99 without the station", "percent PUTs", "million operations a second",
              {"each waits for its key": [(str(x), f"station/stalled-{x}") for x in (0, 1, 10, 50, 100)]}, numbers, rows, steps=True),
        panel("Load dispatch", "", "million accesses a second",
              {"flow": [(of, f"dispatch/{of}") for of in ("all", "direct", "cacheable", "hit", "miss")] + [("PCIe", "dispatch/pcie")]},
              numbers, rows),
        panel("Batching by the client, pairs of 8 bytes", "", "million operations a second",
              {"rate": [("one operation a packet", "batching/alone"), ("full packets", "batching/batched")]}, numbers, rows),
        panel("Batching: latency at 95 % of these rates", "", "us",
              {of: [("one operation a packet", f"batching/{of}-alone"), ("full packets", f"batching/{of}-batched")]
               for of in ("least", "average", "most")}, numbers, rows,
              note="the average of single operations is as published: an input"),
        panel("Vectors", "", "GB/s",
              {"rate": [("held, 64 B", "vectors/held-64"), ("sent, 64 B", "vectors/sent-64"), ("a key an element", "vectors/elements"),
                        ("by a client, 1 KiB", "vectors/client-1024")]}, numbers, rows),
        panel("The host's own memory, read by its processors", "", "GB/s",
              {"card idle": [("random", "host/random-idle"), ("sequential", "host/sequential-idle")],
               "card busy": [("random", "host/random"), ("sequential", "host/sequential")]}, numbers, rows,
              note="that beside an idle card is an input"),
        panel("Ten cards, pairs of 5 bytes", "", "million operations a second",
              {"rate": [("GET, uniform", "nics/get"), ("PUT, uniform", "nics/put"), ("GET, Zipf .99", "nics/get-zipf")]}, numbers, rows),
        panel("PageRank", "", "million edges a second",
              {"rate": [("ten cards, a GET an edge", "nics/pagerank"), ("ten cards, an update an edge", "nics/pagerank-updates"),
                        ("GRAM, a server", "nics/gram")]}, numbers, rows),
    ]


def save(numbers, rows, folder, seeds):
    """Draws figure.svg, .png and .pdf into the folder. Returns a line that names them. Raises ImportError without the modules that draw."""
    import figure   # it imports the modules of build/python
    of_panels = panels(numbers, rows)
    experiment = Derived(name="kv-direct", mode="full", title="KV-Direct, published and derived", source=SOURCE, replicates=len(seeds),
                         panels=[of for of, _ in of_panels], points=[])
    drawn = [{"panel": number, "run": 0, "noisy": False, **row} for number, (_, points) in enumerate(of_panels) for row in points]
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    return figure.save(experiment, drawn, [], [], folder).replace(", .html", "")
