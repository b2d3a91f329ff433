"""The figure of an experiment: a chart a panel, as SVG, PNG, PDF and a page that needs no network. It says itself what was run, on
which machine, and what is missing from it."""
import textwrap

import altair

import gaps as missing
from definition import METRICS, number_format, shared_words

WIDTH, HEIGHT, COLUMNS = 380, 240, 2
LETTERS = 74   # of a line of text over a panel


def said(text, letters=LETTERS):
    return textwrap.wrap(text, letters, break_on_hyphens=False)


def x_axis(panel, at):
    """Of numbers, of steps, or of things; `at`: the numbers that have something."""
    if panel.numeric:
        scale = altair.Scale(type="log", base=2, padding=12) if panel.log else altair.Scale(zero=False, padding=12)
        return altair.X("x:Q", title=panel.x_title, scale=scale, axis=altair.Axis(values=at, format=number_format(at)))
    # Only what tells them apart.
    shared = shared_words(panel.x) if panel.option in ("index", "workload", "slo") else 0
    axis = altair.Axis(labelAngle=-30 if max(map(len, panel.x)) - shared > 8 else 0, labelExpr=f"slice(datum.label, {shared})")
    scale = altair.Undefined if panel.joined else altair.Scale(paddingInner=0.25, paddingOuter=0.1)
    return altair.X("x:O", title=panel.x_title, sort=panel.x, axis=axis, scale=scale)


def layers_of(panel, measured, known, order):
    """Lines where the next x is more of the same, and bars side by side where it is something else."""
    color = altair.Color("curve:N", title=None, sort=order, legend=altair.Legend(symbolOpacity=1, labelLimit=220))
    place = {"x": x_axis(panel, sorted({row["x"] for row in measured + known})), "color": color}
    if not panel.joined:
        place["xOffset"] = altair.XOffset("curve:N", sort=order)
    y_title = METRICS[panel.y][0]
    own = altair.Chart(altair.Data(values=measured))
    middle = {
        "y": altair.Y("median(y):Q", title=y_title),
        "tooltip": ["curve:N", "x:N", altair.Tooltip("median(y):Q", format=".4g"), "count():Q"],
    }
    spread = {"y": altair.Y("min(y):Q", title=y_title), "y2": "max(y):Q"}
    if panel.joined:
        layers = own.mark_rule(opacity=0.5).encode(**place, **spread) + own.mark_line(point=True).encode(**place, **middle)
    else:
        over = {**place, "color": altair.value("black")}
        layers = own.mark_bar().encode(**place, **middle) + own.mark_rule(opacity=0.6).encode(**over, **spread)
    diamonds = altair.Chart(altair.Data(values=known)).mark_point(shape="diamond", size=80, filled=not panel.joined)
    return layers + diamonds.encode(**place, y=altair.Y("y:Q", title=y_title), tooltip=["curve:N", "x:N", "y:Q"])


def chart(experiment, number, drawn, gaps):
    panel = experiment.panels[number]
    measured = [row for row in drawn if row["panel"] == number]
    names = [curve.name for curve in panel.curves if any(row["curve"] == curve.name for row in measured)]
    known = [{"curve": name, "x": x, "y": y} for name, points in panel.beside for x, y in points]
    below = said(panel.note) if panel.note else []
    if panel.order:
        below += said(f"published order, from the best: {', '.join(panel.order)}")
    for line in [*missing.lines(gaps, experiment, number), *missing.noise(measured, panel.y)]:
        below += said(line)
    if measured or known:
        layers = layers_of(panel, measured, known, [*names, *dict.fromkeys(row["curve"] for row in known)])
    else:
        layers = altair.Chart(altair.Data(values=[{}])).mark_text(text="There is no number to draw; above is said why.")
    return layers.properties(
        width=WIDTH,
        height=HEIGHT,
        title=altair.TitleParams(panel.title, subtitle=below, anchor="start", offset=12),
    )


def save(experiment, drawn, gaps, machine, folder):
    """Writes figure.svg, .png, .pdf and .html into the folder; returns what it has written, in words."""
    charts = [chart(experiment, number, drawn, gaps) for number in range(len(experiment.panels))]
    across = min(len(charts), COLUMNS)
    below = [experiment.source, *experiment.notes(), *machine]
    whole = altair.concat(*charts, columns=COLUMNS).resolve_scale(color="independent", xOffset="independent").properties(
        title=altair.TitleParams(
            experiment.title,
            subtitle=[line for text in below for line in said(text, across * 80)],
            anchor="start",
            offset=20,
            fontSize=15,
        )
    )
    for suffix in ("svg", "png", "pdf"):
        whole.save(folder / f"figure.{suffix}", **({"ppi": 144} if suffix == "png" else {}))
    whole.save(folder / "figure.html", inline=True)
    return f"figure: {folder}/figure.svg, .png, .pdf, .html"
