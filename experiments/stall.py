"""Checks that an open loop shows a stall that a closed loop hides. The whole process is stopped for 10 ms once a second.

    stall.py HARNESS [OPTIONS]

The script runs a closed loop with stalls, then an open loop at half the rate of an undisturbed closed loop, without and with stalls. It
prints the 99th percentiles of the response time (since the operation was due) and of the call itself.
"""
import json
import os
import signal
import subprocess
import sys
import time

from child import ends_with_us

STALL_S = .01
PERIOD_S = 1


def run(harness, options, stalls):
    """Makes a run, with or without stalls, and returns its result."""
    command = [harness, "--json", "--latency=all", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True, preexec_fn=ends_with_us()) as process:
        while stalls and process.poll() is None:
            os.killpg(process.pid, signal.SIGSTOP)
            time.sleep(STALL_S)
            os.killpg(process.pid, signal.SIGCONT)
            try:
                process.wait(PERIOD_S - STALL_S)
            except subprocess.TimeoutExpired:
                pass
        text = process.stdout.read()
    if process.returncode != 0:
        sys.exit(f"stall: {' '.join(command)} ended with exit status {process.returncode}")
    return json.loads(text)


def p99_us(summary):
    """Returns the 99th percentile in microseconds; a dash if nothing was measured."""
    return f"{next(p['ns'] for p in summary['percentiles'] if p['percent'] == 99) / 1e3:.1f} us" if summary else "-"


def main(arguments):
    if len(arguments) < 2:
        sys.exit("stall: the usage is stall.py HARNESS [OPTIONS]")
    harness, *options = arguments[1:]
    closed = run(harness, options, stalls=False)
    rate = f"--rate=poisson:{int(closed['throughput']['per_second'] / 2)}"
    for name, loop, stalls in (("closed, stalls", [], True), ("open", [rate], False), ("open, stalls", [rate], True)):
        latency = run(harness, options + loop, stalls)["latency"]
        print(f"{name:15} response p99 {p99_us(latency['response']):>11}   call p99 {p99_us(latency['all']):>9}", flush=True)


if __name__ == "__main__":
    main(sys.argv)
