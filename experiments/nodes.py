"""Compares the nodes that a fetch visits in `chained` with those of Wiscer's own code, for Wiscer's workloads.

    nodes.py HARNESS [OPTIONS]       SEEDS=N in the environment sets another number of seeds than 20, at least 2

The seed decides which keys are popular, and so where they stand in their chains. Under skew a few keys decide the count. The mean over
all seeds does not depend on popularity: without inserts and erases, a key is as likely to stand before another key of its chain as
after it. So a fetch visits 1 + load / 2 nodes on average, 1.477 for a million keys in 2^20 chains.

The unpublished numbers of Wiscer's code are one draw for each workload. Our numbers are right if the draw lies among those of our seeds.
Both come from 20M requests without the first row. The script counts nodes and takes no times, so runs may go in parallel.
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
    """Returns the workloads with the nodes per fetch of Wiscer's code, from wiscer-seven.toml."""
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
        sys.exit("nodes: the usage is nodes.py HARNESS [OPTIONS]")
    harness, *options = arguments
    seeds = max(2, int(os.environ.get("SEEDS", "20")))   # one number has no deviation
    print(f"{'workload':25} one draw  mean of {seeds} seeds, its error   deviation  least .. most")
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for workload, draw in draws():
            of = list(pool.map(lambda seed, w=workload: nodes(harness, w, options, seed), range(1, seeds + 1)))
            mean, deviation = statistics.mean(of), statistics.stdev(of)
            print(f"{workload:25} {draw:8.3f}  {mean:10.4f} +- {deviation / seeds ** .5:.4f}           {deviation:9.4f}  "
                  f"{min(of):.3f} .. {max(of):.3f}   the draw is {abs(draw - mean) / deviation:.1f} deviations off", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
