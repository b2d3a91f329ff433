"""The figure of published numbers beside the model's, in the style of all figures: figure.py draws it from panels of ours."""
import pathlib

import definition

SOURCE = ("published: B. Li et al., KV-Direct, SOSP 2017, read from its figures, and its talk; the model: ./bench model kv-direct, which "
          "has the source of each input")


class Derived(definition.Experiment):
    """An experiment of which nothing was run."""

    def notes(self):
        return [f"lines and bars: the model, means of {self.replicates} seeds; hollow markers: published"]


def panel(title, x_title, y_title, curves, numbers, rows, steps=False):
    """Returns a panel and its rows. `curves`: name -> [(x, row), ...]."""
    published = {row.row: row.value for row in rows}
    places = list(dict.fromkeys(x for points in curves.values() for x, _ in points))
    of = definition.Panel(title=title, option="x", x_title=x_title, x=places, scale="steps" if steps else "linear", y="", y_title=y_title,
                          curves=[definition.Curve(name, [], []) for name in curves])
    drawn = []
    for name, points in curves.items():
        drawn += [{"curve": name, "x": x, "y": numbers[row].best} for x, row in points]
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
        panel("Zipf .99 without the station", "percent PUTs", "million operations a second",
              {"each waits for its key": [(str(x), f"station/stalled-{x}") for x in (0, 1, 10, 50, 100)]}, numbers, rows, steps=True),
        panel("Load dispatch", "", "million accesses a second",
              {"flow": [(of, f"dispatch/{of}") for of in ("all", "direct", "cacheable", "hit", "miss")] + [("PCIe", "dispatch/pcie")]},
              numbers, rows),
        panel("Vectors", "", "GB/s",
              {"rate": [("held, 64 B", "vectors/held-64"), ("sent, 64 B", "vectors/sent-64"), ("a key an element", "vectors/elements"),
                        ("by a client, 1 KiB", "vectors/client-1024")]}, numbers, rows),
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
