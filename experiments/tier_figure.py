"""Draws the figures of ./bench tier: the medians of the rounds, with lines from the least to the most."""
import statistics

import altair
import vl_convert

import tier
from figure import COLORS

GREY = "#8a8a8a"
SHORT = {tier.SMALL: "near alone, 1.4 %", tier.LARGE: "DRAM, 9 %", tier.COPIES: "near + DRAM, 4.4 %", tier.HYBRID: "near + DRAM, 9 %",
         tier.MODEL: "near + a model of Optane, 9 %", "2.8%": "DRAM, 2.8 %"}


def rows(values, **names):
    """Returns a row with the median, the least and the most of the values; none without values."""
    return [{**names, "middle": statistics.median(values), "least": min(values), "most": max(values)}] if values else []


def panel(data, x, y, title, colour, marks=()):
    """Returns a panel of points with their spread, and grey lines at `marks`: pairs of a number and its name."""
    order = list(dict.fromkeys(row["x"] for row in data))
    names = list(dict.fromkeys(row["colour"] for row in data))
    base = altair.Chart(altair.Data(values=data)).encode(
        x=altair.X("x:N", title=x, sort=order, axis=altair.Axis(labelAngle=0, labelLimit=180)), xOffset=altair.XOffset("colour:N", sort=names),
        color=altair.Color("colour:N", title=colour, sort=names, scale=altair.Scale(domain=names, range=list(COLORS[:len(names)]))))
    spread = base.mark_rule().encode(y=altair.Y("least:Q", title=y, scale=altair.Scale(zero=True)), y2="most:Q")
    points = base.mark_point(filled=True, size=45).encode(y="middle:Q", shape=altair.Shape("colour:N", title=colour, sort=names, scale=altair.Scale(domain=names)))
    lines = altair.Chart(altair.Data(values=[{"mark": number, "name": name} for number, name in marks]))
    layers = [lines.mark_rule(color=GREY, strokeDash=[4, 4]).encode(y="mark:Q"),
              lines.mark_text(color=GREY, align="left", dy=-6, x=4).encode(y="mark:Q", text="name:N")] if marks else []
    return altair.layer(*layers, spread, points).properties(width=420, height=240, title=title)


def gain(runs):
    """Ratios to near memory alone, of one round each."""
    panels = []
    for what, y, published in (("operations_s", "operations a second", tier.PUBLISHED[0]), ("p95_us", "P95 of a get", tier.PUBLISHED[1]),
                               ("misses", "misses", None)):
        data = []
        for point in sorted(runs.points(), key=tier.order):
            alone = tier.replace(point, variant=tier.SMALL)
            if point != alone:
                data += rows(runs.ratios(point, alone, what), x=point.load, colour=SHORT[point.variant])
        marks = [(published, f"published, at most: {published}")] if published else []
        panels.append(panel(data, None, f"{y}, over near memory alone", y, "memory", [(1, "near memory alone"), *marks]))
    return panels, ["A block cache over two memories: near memory of 1.4 % of the data, near and far memory of 9 %",
                    "Published: the most of Kassa et al. (ACM TOS 2022), over their loads, on Optane PMem, beside a server of small DRAM; ours: mixgraph "
                    "as --load names it, one process, a model of Optane"]


def rules(runs):
    """Each rule on each medium."""
    panels = []
    of = {point.variant: point for point in runs.points()}
    for what, scale, y in (("operations_s", 1, "operations a second"), ("misses", 1, "misses"), ("bytes_written", 1e-6, "far memory, MB written"),
                           ("p95_us", 1, "P95 of a get, us")):
        values = lambda point, what=what, scale=scale: [value * scale for value in (
            [far["bytes_written"] for far in runs.values(point, "far")] if what == "bytes_written" else runs.values(point, what))]
        data = [row for medium, words in tier.MEDIA.items() for rule in tier.RULES if (point := of.get(f"{tier.SMALL}+{words}size=7.6%{rule}"))
                for row in rows(values(point), x=medium, colour=rule.lstrip(",").removeprefix("rule=") or "near-first, promote=1")]
        marks = [(statistics.median(values(of[name])), SHORT[name]) for name in (tier.SMALL, tier.LARGE) if name in of and values(of[name])]
        panels.append(panel(data, "far memory", y, y, "rule", marks))
    return panels, ["Which blocks far memory takes, and when they go up: prefix-dist, near memory 1.4 % of the data, near and far memory 9 %"]


def servers(runs):
    """Each server under each load, by shards."""
    names, panels = {variant: name for name, variant in tier.SERVERS.items()}, []
    points = sorted(runs.points(), key=lambda point: (tier.LOADS.index(point.load), point.shards, list(tier.SERVERS.values()).index(point.variant)))
    for what, y in (("operations_s", "operations a second"), ("p95_us", "P95 of a get, us"), ("misses", "misses")):
        data = [row for point in points
                for row in rows(runs.values(point, what), x=f"{point.load} / {point.shards}", colour=names[point.variant])]
        panels.append(panel(data, "load / shards", y, y, "server"))
    return [one.properties(width=760) for one in panels], ["Three servers, three loads, and shards that share a machine"]


def draw(experiment, runs, folder):
    """Draws figure.svg and figure.png into the folder."""
    panels, (title, *notes) = {"gain": gain, "rules": rules, "servers": servers}[experiment](runs)
    spec = altair.concat(*panels, columns=1 if experiment == "servers" else 2).properties(
        title=altair.TitleParams(title, subtitle=notes, anchor="start"), background="white").resolve_scale(color="independent", shape="independent").to_dict()
    (folder / "figure.svg").write_text(vl_convert.vegalite_to_svg(spec))
    (folder / "figure.png").write_bytes(vl_convert.vegalite_to_png(spec, ppi=144))
