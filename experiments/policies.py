#!/usr/bin/env python3
"""Draws throughput over threads, a line a policy, from result documents.

    ./bench '--sync={none,rwspin,rtm:20,olc}' --threads=1..2 --records=4M --time=1s --reps=5 --json | experiments/policies.py FIGURE.svg

Each point is the median of its repetitions; a tick is one of them. Degraded runs are dashed. Needs altair and
vl-convert-python (PyPI).
"""
import json
import sys

import altair


def main() -> int:
    if len(sys.argv) != 2 or not sys.argv[1].endswith((".svg", ".png", ".pdf", ".html")):
        print("experiments/policies.py: expected one argument, a file to write: .svg, .png, .pdf or .html", file=sys.stderr)
        return 2
    rows = []
    for line in sys.stdin:
        result = json.loads(line)
        if result["status"] not in ("ok", "degraded"):
            continue
        rows.append({
            "policy": result["config"]["sync"] + (" (degraded)" if result["status"] == "degraded" else ""),
            "degraded": result["status"] == "degraded",
            "threads": result["config"]["threads"],
            "throughput": result["throughput"]["per_second"] / 1e6,
        })
    if not rows:
        print("experiments/policies.py: no result to draw on standard input", file=sys.stderr)
        return 2
    base = altair.Chart(altair.Data(values=rows)).encode(
        x=altair.X("threads:O", title="threads", axis=altair.Axis(labelAngle=0)),
        color=altair.Color("policy:N", title=None),
    )
    line = base.mark_line(point=True).encode(
        y=altair.Y("median(throughput):Q", title="million operations a second"),
        strokeDash=altair.StrokeDash("degraded:N", legend=None),
    )
    each = base.mark_tick().encode(y="throughput:Q")
    (each + line).properties(width=360, height=240).save(sys.argv[1])
    return 0


if __name__ == "__main__":
    sys.exit(main())
