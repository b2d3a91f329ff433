"""Draws the figures of an experiment, as SVG, PNG and PDF.

`save` draws all panels in one picture. Its text names the options, the machine, and what is missing from the picture. `save_paper` draws
each panel alone, in exactly the requested size and without a title; a caption file beside it has the rest of the text. Curves differ in
marker and dash as well as in colour. The colours for papers also differ in brightness, so that they remain distinct in grey print.
"""
import dataclasses
import re
import statistics
import textwrap

import altair
import vl_convert

import gaps as missing
import states
from definition import number_format, shared_words
from input_error import InputError

COLUMNS = 2   # columns of panels in one picture
APART = {name: "independent" for name in ("color", "fill", "stroke", "shape", "strokeDash", "xOffset")}   # each panel has scales of its own
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right", "triangle-left")
DASHES = ([1, 0], [7, 2], [2, 2], [9, 2, 2, 2], [4, 3], [12, 3], [1, 3], [7, 2, 1, 2, 1, 2])
COLORS = ("#4c78a8", "#f58518", "#54a24b", "#e45756", "#72b7b2", "#b279a2", "#c9a227", "#ff9da6", "#9d755d", "#8a8a8a")
VIRIDIS = ((68, 1, 84), (59, 82, 139), (33, 145, 140), (94, 201, 98), (253, 231, 37))   # from dark to bright, evenly
BRIGHTEST_LINE = 0.7   # share of VIRIDIS: brighter lines are hard to see on paper; bars have an outline
LETTER = 0.5       # width of an average letter, in font sizes


@dataclasses.dataclass(frozen=True)
class Look:
    """Sizes in points, which are the pixels of SVG."""

    width: float = 380   # of a panel's plot, without axes and legend
    height: float = 240
    font: float = 11
    paper: bool = False
    ink: str = "black"

    @property
    def small(self):
        """The font size of notes."""
        return self.font * 0.85


def wrapped(text, width, font):
    """Breaks a text into lines that fit the width."""
    return textwrap.wrap(text, max(20, int(width / (font * LETTER))), break_on_hyphens=False)


def points_of(panel, number, drawn, modelled=False):
    """Returns the points of a panel: one for each curve and x that was measured, with the median and the spread of its runs. A modelled
    point in two states has the number of the state with more seeds, and `shares`: the number and the share of seeds of each state."""
    out = []
    for curve in panel.curves:
        for x in panel.x:
            ys = [row["y"] for row in drawn if (row["panel"], row["curve"], row["x"]) == (number, curve.name, x)]
            if ys:
                point = {"curve": curve.name, "x": x, "y": statistics.median(ys), "low": min(ys), "high": max(ys), "runs": len(ys)}
                if modelled and len(found := states.states_of(ys)) > 1:
                    point["y"] = max(found, key=lambda state: state.seeds).y
                    point["shares"] = [(state.y, f"{state.seeds}/{len(ys)}") for state in found]
                out.append(point)
    return out


def known_of(panel):
    """Returns the numbers of other sources that the panel shows beside ours. A bracket has a row for each end."""
    brackets = [{"curve": name, "x": x, "low": low, "high": high} for name, of in panel.between for x, low, high in of]
    ends = [{**bracket, "y": bracket[end]} for bracket in brackets for end in ("low", "high")]
    return [{"curve": name, "x": x, "y": y} for name, points in panel.beside for x, y in points] + ends


def names_of(points, known):
    return list(dict.fromkeys(row["curve"] for row in [*points, *known]))


def dressed(rows, names, ours, panel):
    """The rows with two more fields. `dodge` moves a curve sideways, so that no whisker hides another. `hollow` empties the markers of
    numbers beside ours, and of curves for which no shape is left. `ours`: the names of our curves."""
    step = min(4, 16 / max(1, len(names))) if panel.joined else 0
    out = []
    for row in rows:
        place = names.index(row["curve"])
        dodge = (place - (len(names) - 1) / 2) * step
        out.append({**row, "dodge": dodge, "hollow": row["curve"] not in ours or place >= len(SHAPES)})
    return out


def in_turn(values, names):
    return [values[i % len(values)] for i in range(len(names))]


def viridis(share):
    at, part = divmod(share * (len(VIRIDIS) - 1), 1)
    dark, bright = VIRIDIS[int(at)], VIRIDIS[min(int(at) + 1, len(VIRIDIS) - 1)]
    return "#" + "".join(f"{round(d + (b - d) * part):02x}" for d, b in zip(dark, bright, strict=True))


def hues(names, ours, look, joined):
    """Returns a colour for each name. On paper they go from dark to bright; bars use a wider range than lines."""
    if not look.paper:
        return in_turn(COLORS, names)
    of = names if joined else [name for name in names if name in ours]
    brightest = BRIGHTEST_LINE if joined else 0.95
    return [viridis(of.index(name) / max(1, len(of) - 1) * brightest) if name in of else look.ink for name in names]


def channels(names, ours, look, joined):
    """Channels of an encoding that tell curves apart. `ours`: the names that are not those of numbers beside ours."""
    scale = altair.Scale(domain=names, range=hues(names, ours, look, joined))
    return {
        "color": altair.Color("curve:N", scale=scale, legend=None),
        "fill": altair.Fill("curve:N", scale=scale, legend=None),
        "stroke": altair.Stroke("curve:N", scale=scale, legend=None),
        "shape": altair.Shape("curve:N", scale=altair.Scale(domain=names, range=in_turn(SHAPES, names)), legend=None),
        "strokeDash": altair.StrokeDash("curve:N", scale=altair.Scale(domain=names, range=in_turn(DASHES, names)), legend=None),
    }


def markers(rows, look, tells, **mark):
    """Returns a layer of markers. `tells` comes from `channels`."""
    return (
        altair.Chart(altair.Data(values=rows))
        .mark_point(size=look.font * 4, strokeWidth=1.2, opacity=1, fillOpacity=altair.ExprRef("datum.hollow ? 0 : 1"), **mark)
        .encode(fill=tells["fill"], stroke=tells["stroke"], shape=tells["shape"])
    )


def x_axis(panel, at):
    """The axis of a panel. `at`: the values that have a point."""
    if panel.numeric:
        scale = altair.Scale(type="log", base=2, padding=14) if panel.log else altair.Scale(zero=False, padding=14)
        return altair.X("x:Q", title=panel.x_title, scale=scale, axis=altair.Axis(values=at, format=number_format(at)))
    # Labels leave out the prefix that all values share.
    shared = shared_words(panel.x) if panel.option in ("index", "workload", "slo") else 0
    longest = max(map(len, panel.x)) - shared
    angle = -30 if longest > 8 else 0
    axis = altair.Axis(labelAngle=angle, labelExpr=f"slice(datum.label, {shared})", labelOverlap=False)
    scale = altair.Undefined if panel.joined else altair.Scale(paddingInner=0.25, paddingOuter=0.1)
    return altair.X("x:O", title=panel.x_title, sort=panel.x, axis=axis, scale=scale)


def plot(panel, points, known, look):
    """The plot of a panel, without its size: lines if x is a quantity, bars side by side if its values are things, but markers if y is
    logarithmic."""
    if not points and not known:
        text = {"text": "There is no number to draw.", "fontSize": look.font, "color": look.ink}
        return altair.Chart(altair.Data(values=[{}])).mark_text(**text)
    names = names_of(points, known)
    mine = {row["curve"] for row in points}
    tells = channels(names, mine, look, panel.joined)
    x = x_axis(panel, sorted({row["x"] for row in [*points, *known]}))
    place = {"x": x} if panel.joined else {"x": x, "xOffset": altair.XOffset("curve:N", sort=names)}
    moved = {"xOffset": altair.ExprRef("datum.dodge")} if panel.joined else {}

    def y(field):
        scale = altair.Scale(type="log", base=2) if panel.y_log else altair.Undefined
        return altair.Y(f"{field}:Q", title=panel.y_title, scale=scale)

    ours, beside = dressed(points, names, mine, panel), dressed(known, names, mine, panel)
    own = altair.Chart(altair.Data(values=ours))
    tips = ["curve:N", "x:N", *(altair.Tooltip(f"{field}:Q", format=".4g") for field in ("y", "low", "high")), "runs:Q"]
    spread = {**place, "y": y("low"), "y2": "high:Q"}
    layers = []
    if panel.joined:
        layers.append(own.mark_rule(opacity=0.6, **moved).encode(**spread, color=tells["color"]))
        line = own.mark_line(strokeWidth=1.5, **moved)
        layers.append(line.encode(**place, y=y("y"), color=tells["color"], strokeDash=tells["strokeDash"]))
        layers.append(markers(ours, look, tells, **moved).encode(**place, y=y("y"), tooltip=tips))
    elif panel.y_log:   # a bar would begin at 0
        layers.append(own.mark_rule(opacity=0.6).encode(**spread, color=tells["color"]))
        layers.append(markers(ours, look, tells).encode(**place, y=y("y"), tooltip=tips))
    else:
        bar = own.mark_bar(stroke=look.ink, strokeWidth=0.5)
        layers.append(bar.encode(**place, y=y("y"), fill=tells["fill"], tooltip=tips))
        layers.append(own.mark_rule(color=look.ink, opacity=0.7).encode(**spread))
    if shares := [{**row, "y": at, "share": share} for row in ours for at, share in row.get("shares", ())]:
        states_there = altair.Chart(altair.Data(values=shares))
        layers.append(markers([{**row, "hollow": True} for row in shares], look, tells, **moved).encode(**place, y=y("y")))
        text = states_there.mark_text(align="left", dx=look.font / 2, fontSize=look.small, color=look.ink, **moved)
        layers.append(text.encode(**place, y=y("y"), text="share:N"))
    if brackets := [row for row in beside if "low" in row]:
        bracket = altair.Chart(altair.Data(values=brackets)).mark_rule(strokeWidth=1.5, **moved)
        layers.append(bracket.encode(**spread, color=tells["color"]))
    if beside:
        layers.append(markers(beside, look, tells, **moved).encode(**place, y=y("y"), tooltip=["curve:N", "x:N", "y:Q"]))
    return altair.layer(*layers)


def legend(panel, points, known, look):
    """Returns a chart that shows how each curve is drawn, in as many columns as fit its width; None without curves."""
    names = names_of(points, known)
    if not names:
        return None
    sample = look.font * 2.2
    wide = sample + look.font * (1 + LETTER * max(map(len, names)))
    columns = max(1, min(len(names), int(look.width / wide)))
    ours = {row["curve"] for row in points}
    rows = []
    for row in dressed([{"curve": name} for name in names], names, ours, panel):
        down, across = divmod(len(rows), columns)
        left = across * look.width / columns
        y = (down + 0.5) * look.font * 1.4
        rows.append({**row, "left": left, "mid": left + sample / 2, "right": left + sample, "text": left + sample * 1.2, "y": y})

    def at(field, channel, rows=rows):
        scaled = channel(f"{field}:Q", scale=None, axis=None)
        return altair.Chart(altair.Data(values=rows)).encode(scaled, altair.Y("y:Q", scale=None, axis=None))

    tells = channels(names, ours, look, panel.joined)
    lined = [row for row in rows if row["curve"] in ours]
    layers = []
    if panel.joined and lined:
        line = at("left", altair.X, lined).mark_rule(strokeWidth=1.5).encode(x2="right:Q")
        layers.append(line.encode(color=tells["color"], strokeDash=tells["strokeDash"]))
    elif lined and not panel.y_log:
        bar = at("mid", altair.X, lined).mark_square(size=look.font * 10, stroke=look.ink, strokeWidth=0.5, opacity=1)
        layers.append(bar.encode(fill=tells["fill"]))
    marked = rows if panel.joined or panel.y_log else [row for row in rows if row["curve"] not in ours]
    if marked:
        where = {"x": altair.X("mid:Q", scale=None, axis=None), "y": altair.Y("y:Q", scale=None, axis=None)}
        layers.append(markers(marked, look, tells).encode(**where))
    words = at("text", altair.X).mark_text(align="left", baseline="middle", fontSize=look.font, color=look.ink)
    layers.append(words.encode(text="curve:N"))
    return altair.layer(*layers).properties(width=look.width, height=-(-len(names) // columns) * look.font * 1.4)


def notes(lines, look, width):
    """Returns a chart that consists of small lines of text."""
    rows = [{"text": line, "row": i} for i, line in enumerate(line for text in lines for line in wrapped(text, width, look.small))]
    text = altair.Chart(altair.Data(values=rows)).mark_text(align="left", baseline="top", fontSize=look.small, color="#555")
    y = altair.Y("row:Q", axis=None, scale=altair.Scale(domain=[0, len(rows)], range=[0, len(rows) * look.small * 1.3]))
    return text.encode(x=altair.value(0), y=y, text="text:N").properties(width=width, height=len(rows) * look.small * 1.3)


def whole(charts, look, spacing):
    """Returns one picture with the charts below each other; the look sets all sizes of text."""
    picture = altair.vconcat(*charts, spacing=spacing).resolve_scale(**APART)
    text = {"labelFontSize": look.font - 1, "titleFontSize": look.font, "titleFontWeight": "normal", "labelLimit": 400}
    colors = {"labelColor": look.ink, "titleColor": look.ink, "domainColor": look.ink, "tickColor": look.ink}
    return picture.configure_axis(**text, **colors).configure_view(stroke=None)


def with_legend(panel, points, known, look):
    """Returns the charts of a panel from top to bottom: the legend and the plot."""
    box = plot(panel, points, known, look).properties(width=look.width, height=look.height)
    above = legend(panel, points, known, look)
    return [box] if above is None else [above, box]


def said_of(experiment, number, measured, gaps):
    """Lines beside the title of a panel: its note, and the runs that are missing from it."""
    panel = experiment.panels[number]
    lines = [panel.note] if panel.note else []
    if panel.order:
        lines.append(f"published order, from the best: {', '.join(panel.order)}")
    spread = states.lines(measured, panel) if experiment.machine else missing.noise(measured, panel.y)
    return [*lines, *missing.lines(gaps, experiment, number), *spread]


def titled(panel, points, known, lines, look):
    """Returns a panel with its title, and with lines of text below the title."""
    return altair.vconcat(*with_legend(panel, points, known, look), spacing=look.font / 2).properties(
        title=altair.TitleParams(
            panel.title,
            subtitle=[line for text in lines for line in wrapped(text, look.width + 40, look.small)] or altair.Undefined,
            anchor="start",
            offset=6,
            fontSize=look.font + 1,
            subtitleFontSize=look.small,
            subtitleColor="#555",
        )
    )


def chart(experiment, number, drawn, gaps, look):
    """Returns a panel with its title."""
    panel = experiment.panels[number]
    points, known = points_of(panel, number, drawn, bool(experiment.machine)), known_of(panel)
    below = said_of(experiment, number, [row for row in drawn if row["panel"] == number], gaps)
    return titled(panel, points, known, below, look)


def save_charts(title, charts, lines, look, folder, name, suffixes=("svg", "png")):
    """Writes name.svg and so on into the folder: the charts in columns below the title, and lines of text below them."""
    across = min(len(charts), COLUMNS)
    width = across * (look.width + 60)
    panels = altair.concat(*charts, columns=across, spacing=30).resolve_scale(**APART).properties(
        title=altair.TitleParams(wrapped(title, width, look.font + 4), anchor="start", offset=10, fontSize=look.font + 4)
    )
    picture = whole([panels, notes(lines, look, width)], look, spacing=15)
    for suffix in suffixes:
        picture.save(folder / f"{name}.{suffix}", **({"ppi": 144} if suffix == "png" else {}))


def save(experiment, drawn, gaps, machine, folder):
    """Writes figure.svg, .png and .pdf into the folder; page.py writes figure.html there. Returns a line that names all four."""
    look = Look()
    charts = [chart(experiment, number, drawn, gaps, look) for number in range(len(experiment.panels))]
    lines = [experiment.source, *experiment.notes(), *machine]
    save_charts(experiment.title, charts, lines, look, folder, "figure", ("svg", "png", "pdf"))
    return f"figure: {folder}/figure.svg, .png, .pdf, .html"


def size_of(svg):
    """Returns the width and height of a picture."""
    return tuple(float(re.search(rf'<svg[^>]* {side}="([0-9.]+)"', svg).group(1)) for side in ("width", "height"))


def fitted(panel, points, known, width, height, font):
    """Returns the picture of a panel in exactly the requested size, axes and legend included. Without a height, the plot is half as
    high as the picture is wide. Raises InputError if axes and legend leave too little space for the plot."""
    look = Look(width, height or width / 2, font, paper=True)
    for _ in range(8):
        if look.width < 5 * font or look.height < 5 * font:
            size = f"--width={width:g} --height={height:g}" if height else f"--width={width:g}"
            raise InputError(f"{size}: too small for the axes and the legend of '{panel.title}' in letters of {font:g} points")
        picture = whole(with_legend(panel, points, known, look), look, spacing=font / 2).properties(padding=2)
        wide, high = size_of(vl_convert.vegalite_to_svg(picture.to_dict()))
        off = width - wide, (height or high) - high
        if max(map(abs, off)) < 1:
            break
        look = dataclasses.replace(look, width=look.width + off[0], height=look.height + off[1])
    return picture


def save_paper(experiment, drawn, gaps, machine, folder, size):
    """Writes NAME.svg, .png, .pdf and .caption.txt into the folder; with several panels NAME-1.svg and so on. Returns a line that names
    the files. `size` has width, height or None, and font size, in points. Raises InputError as `fitted` does, before it writes."""
    pictures = [fitted(panel, points_of(panel, number, drawn, bool(experiment.machine)), known_of(panel), *size)
                for number, panel in enumerate(experiment.panels)]
    for number, (panel, picture) in enumerate(zip(experiment.panels, pictures, strict=True)):
        name = experiment.name if len(pictures) == 1 else f"{experiment.name}-{number + 1}"
        for suffix in ("svg", "png", "pdf"):
            picture.save(folder / f"{name}.{suffix}", **({"ppi": 300} if suffix == "png" else {}))
        measured = [row for row in drawn if row["panel"] == number]
        lines = [
            f"{experiment.title}. {panel.title}: {panel.y_title}, by {panel.x_title}.",
            *said_of(experiment, number, measured, gaps),
            f"source: {experiment.source}",
            *experiment.notes(),
            *machine,
        ]
        (folder / f"{name}.caption.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    each = "" if len(pictures) == 1 else f"-1 ... -{len(pictures)}"
    return f"figure: {folder}/{experiment.name}{each}.svg, .png, .pdf, .caption.txt"
