"""Nodes on the way of a fetch in chains, of Wiscer's workloads over many seeds, beside those of Wiscer's code, which are of one.

    nodes.py HARNESS [OPTIONS]       SEEDS=N in the environment for another number than 20, at least 2

A seed says which keys are popular, and so where they stand in their chains: under skew a few of them decide. What a seed cannot
change is the mean over all seeds, of any popularity: where nothing is inserted or erased, a key is as likely to stand before
another of its chain as after it, so a fetch visits 1 + load / 2 nodes, 1.477 of a million keys in 2^20 chains. A number of
Wiscer's code, which nobody published, is one draw: ours are right if it lies where the seeds do. Of 20M requests as there, those of
the first row left out. Counts, so runs go side by side.
"""

import concurrent.futures
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tomllib

from child import ends_with_us


def draws():
    """Workloads and nodes a fetch, as the figure of wiscer-seven has them."""
    figure = tomllib.loads(pathlib.Path(__file__).with_name("wiscer-seven.toml").read_text())["panel"][0]
    return next(curve["points"] for curve in figure["rerun"] if curve["name"] == "chained")


def nodes(harness, workload, options, seed):
    command = [harness, "--index=chained", "--sync=none", f"--workload={workload}", "--ops=20M", "--warmup=0",
               f"--seed={seed}", "--json", *options]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=False, preexec_fn=ends_with_us())
    if done.returncode != 0:
        sys.exit(f"nodes: {' '.join(command)} ended with exit status {done.returncode}")
    return statistics.mean(row["nodes_per_fetch"] for row in json.loads(done.stdout)["rows"][1:])


def main(arguments):
    if not arguments:
        sys.exit("nodes: write nodes.py HARNESS [OPTIONS]")
    harness, *options = arguments
    seeds = max(2, int(os.environ.get("SEEDS", "20")))   # one has no deviation
    print(f"{'workload':25} one draw  mean of {seeds} seeds, its error   deviation  least .. most")
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for workload, draw in draws():
            of = list(pool.map(lambda seed, w=workload: nodes(harness, w, options, seed), range(1, seeds + 1)))
            mean, deviation = statistics.mean(of), statistics.stdev(of)
            print(f"{workload:25} {draw:8.3f}  {mean:10.4f} +- {deviation / seeds ** .5:.4f}           {deviation:9.4f}  "
                  f"{min(of):.3f} .. {max(of):.3f}   the draw is {abs(draw - mean) / deviation:.1f} deviations off", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
