"""Writes the page of an experiment: one HTML file that needs no network. Its reader can filter curves and set two points side by side. It
works by keyboard, in dark mode, on a narrow screen, and in print."""
import html
import json
import pathlib
import statistics

import altair
import vl_convert

import columns
import figure

TEMPLATE = pathlib.Path(__file__).with_name("page.html")
PARTS = ("throughput", "latency", "nodes_per_fetch", "sync", "pmu", "memory", "limits", "health")   # of a document, whose numbers are shown
LEFT_OUT = ("enabled_ns", "running_ns", "running_share", "raw", "scaled")   # of an event; per_operation is shown
# Paths of the markers that stand beside the names of curves, about eight pixels wide.
MARKERS = {
    "circle": "M4,0A4,4,0,1,1,-4,0A4,4,0,1,1,4,0",
    "square": "M-3.5,-3.5h7v7h-7Z",
    "triangle-up": "M0,-4L4,3.5H-4Z",
    "diamond": "M-4.5,0L0,-4.5L4.5,0L0,4.5Z",
    "cross": "M-4.5,-1.5H-1.5V-4.5H1.5V-1.5H4.5V1.5H1.5V4.5H-1.5V1.5H-4.5Z",
    "triangle-down": "M0,4L4,-3.5H-4Z",
    "triangle-right": "M4,0L-3.5,4V-4Z",
    "triangle-left": "M-4,0L3.5,4V-4Z",
}


def medians(documents):
    """The numbers of a point, name -> median, and the reasons why others are missing, name -> reason."""
    rows = [{name: value for name, (_, value) in columns.flat(columns.SCHEMA, document).items()} for document in documents]
    values, reasons = {}, {}
    for name in dict.fromkeys(name for row in rows for name in row):
        if name.split(".")[0].removesuffix("_reason") not in PARTS or name.rsplit(".", 1)[-1] in LEFT_OUT:
            continue
        found = [row[name] for row in rows if name in row]
        if name.endswith("_reason"):
            reasons[name.removesuffix("_reason")] = found[0]
        elif all(isinstance(value, int | float) and not isinstance(value, bool) for value in found):
            values[name] = statistics.median(found)
    return values, reasons


def reason_of(name, reasons):
    """The reason why a point has no such number: that of the number, or of a part of the document around it."""
    while name:
        if name in reasons:
            return reasons[name]
        name = name.rpartition(".")[0]
    return None


def compared(experiment, results):
    """The data of the comparison: points with their numbers, places of the figure with the index of their point, names of numbers."""
    points, places, number_of = [], [], {}
    for point in experiment.points:
        runs = [(point.arguments, replicate) for replicate in range(experiment.replicates)]
        documents = [results.known[run] for run in runs if run in results.known and results.known[run].get("throughput")]
        if not documents:
            continue
        if point.arguments not in number_of:
            panel = experiment.panels[point.panel]
            number_of[point.arguments] = len(points)
            values, reasons = medians(documents)
            title = f" ({panel.title})" if len(experiment.panels) > 1 else ""
            points.append({"label": f"{point.curve}, {panel.x_title} {point.x}{title}", "values": values, "reasons": reasons})
        places.append({"panel": point.panel, "curve": point.curve, "x": point.x, "point": number_of[point.arguments]})
    names = list(dict.fromkeys(name for point in points for name in point["values"]))
    names.sort(key=lambda name: PARTS.index(name.split(".")[0]))   # a stable sort: within a part the order is that of the schema
    for point in points:
        point["reasons"] = {name: why for name in names if (why := reason_of(name, point["reasons"])) is not None}
    return {"points": points, "places": places, "columns": names}


def panel_of(experiment, number, drawn, gaps):
    """Returns a panel for the page: a chart that fills the available width, and the look of each curve."""
    panel = experiment.panels[number]
    look = figure.Look(ink="currentColor")
    points, known = figure.points_of(panel, number, drawn, bool(experiment.machine)), figure.known_of(panel)
    grey = {"gridColor": "#8885", "domainColor": "currentColor", "tickColor": "currentColor"}
    text = {"labelColor": "currentColor", "titleColor": "currentColor", "titleFontWeight": "normal", "labelFontSize": 11, "titleFontSize": 12}
    chart = figure.plot(panel, points, known, look).properties(width="container", height=look.height)
    chart = chart.configure(background="transparent").configure_axis(**grey, **text).configure_view(stroke=None)
    names, ours = figure.names_of(points, known), {row["curve"] for row in points}
    rows = figure.dressed([{"curve": name} for name in names], names, ours, panel)
    curves = []
    for row, color in zip(rows, figure.hues(names, ours, look, panel.joined), strict=True):
        place = names.index(row["curve"])
        is_bar = row["curve"] in ours and not panel.joined
        curves.append({
            "name": row["curve"], "color": color, "dash": figure.in_turn(figure.DASHES, names)[place],
            "line": row["curve"] in ours and panel.joined, "hollow": row["hollow"] and not is_bar,
            "marker": MARKERS["square" if is_bar else figure.in_turn(figure.SHAPES, names)[place]],
        })
    measured = [row for row in drawn if row["panel"] == number]
    with altair.data_transformers.enable(consolidate_datasets=False):
        spec = chart.to_dict()
    return {"title": panel.title, "spec": spec, "curves": curves, "notes": figure.said_of(experiment, number, measured, gaps)}


def save(experiment, drawn, gaps, machine, results, folder):
    """Writes figure.html into the folder."""
    data = {
        "title": experiment.title,
        "about": [experiment.source, *experiment.notes(), *machine],
        "panels": [panel_of(experiment, number, drawn, gaps) for number in range(len(experiment.panels))],
        **compared(experiment, results),
    }
    text = TEMPLATE.read_text(encoding="utf-8")
    # The data come last, so that no mark is searched for in them.
    for mark, content in (
        ("@TITLE@", html.escape(experiment.title)),
        ("@BUNDLE@", vl_convert.javascript_bundle()),
        ("@DATA@", json.dumps(data).replace("<", "\\u003c")),
    ):
        before, after = text.split(mark, 1)
        text = before + content + after
    (folder / "figure.html").write_text(text, encoding="utf-8")
