"""The figure of an experiment: a chart a panel, as SVG, PNG, PDF and a page that needs no network."""
import textwrap

import altair

from definition import METRICS, number_format, reasons, shared_words

WIDTH, HEIGHT = 380, 240


def said(text):
    return textwrap.wrap(text, 64)


def chart(experiment, number, drawn, left_out):
    panel = experiment.panels[number]
    names = [curve.name for curve in panel.curves if (number, curve.name) not in left_out]
    known = [
        {"curve": f"{name} (published)", "x": x, "y": y} for name, points in panel.published for x, y in points
    ]
    below = []
    if panel.order:
        below += said(f"published order, from the best: {', '.join(panel.order)}")
    for line in reasons(left_out, number):
        below += said(line)
    numeric = all(isinstance(x, int | float) for x in panel.x)
    if numeric:
        at = sorted({*panel.x, *(row["x"] for row in known)})
        scale = altair.Scale(type="log", base=2) if panel.log else altair.Scale(zero=False)
        x = altair.X("x:Q", title=panel.x_title, scale=scale, axis=altair.Axis(values=at, format=number_format(at)))
    else:
        # Of indexes only what tells them apart.
        shared = shared_words(panel.x) if panel.option == "index" else 0
        axis = altair.Axis(labelAngle=-30 if max(map(len, panel.x)) - shared > 10 else 0, labelExpr=f"slice(datum.label, {shared})")
        x = altair.X("x:O", title=panel.x_title, sort=panel.x, axis=axis)
    y_title = METRICS[panel.y][0]
    order = [*names, *(row["curve"] for row in known)]
    color = altair.Color("curve:N", title=None, sort=order, legend=altair.Legend(symbolOpacity=1))
    measured = [row for row in drawn if row["panel"] == number]
    own = altair.Chart(altair.Data(values=measured))
    median = own.mark_line(point=True).encode(
        x=x,
        y=altair.Y("median(y):Q", title=y_title),
        color=color,
        tooltip=["curve:N", "x:N", altair.Tooltip("median(y):Q", format=".4g"), "count():Q"],
    )
    spread = own.mark_rule(opacity=0.5).encode(x=x, y=altair.Y("min(y):Q", title=y_title), y2="max(y):Q", color=color)
    published = altair.Chart(altair.Data(values=known)).mark_point(shape="diamond", size=80).encode(
        x=x, y=altair.Y("y:Q", title=y_title), color=color, tooltip=["curve:N", "x:N", "y:Q"]
    )
    layers = spread + median + published
    if not measured and not known:
        layers = altair.Chart(altair.Data(values=[{}])).mark_text(text="Nothing of this was measured.")
    return layers.properties(
        width=WIDTH,
        height=HEIGHT,
        title=altair.TitleParams(panel.title, subtitle=below, anchor="start"),
    )


def save(experiment, drawn, left_out, folder):
    """Writes figure.svg, .png, .pdf and .html into the folder; returns what it has written, in words."""
    charts = [chart(experiment, number, drawn, left_out) for number in range(len(experiment.panels))]
    whole = altair.concat(*charts, columns=2).resolve_scale(color="independent").properties(
        title=altair.TitleParams(experiment.title, subtitle=said(experiment.source), anchor="start")
    )
    for suffix in ("svg", "png", "pdf"):
        whole.save(folder / f"figure.{suffix}")
    whole.save(folder / "figure.html", inline=True)
    return f"figure: {folder}/figure.svg, .png, .pdf, .html"
