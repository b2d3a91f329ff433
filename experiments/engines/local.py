"""Runs the tasks of a sweep on this machine: one after the other, or several at once if they are modelled, since then nothing is timed."""
import os
import pathlib
import signal
import subprocess

from child import ends_with_us
from engines.end import End
from engines.engine import Engine

SCRIPT = pathlib.Path(__file__).resolve().parents[1] / "block.sh"
LOOK = 0.1   # seconds between two looks at the records; only reports wait for it


def here():
    """Names this machine as block.sh does."""
    return os.environ.get("LATCHLAB_NODE") or os.environ.get("SLURMD_NODENAME") or os.uname().nodename


class Local(Engine):
    name = "local"
    kinds = [""]

    def __init__(self, harness, at_once=1):
        self.binary = pathlib.Path(harness).resolve()
        self.at_once = at_once
        self.children = {}   # the name of a task -> its process

    def nodes(self):
        return "this machine"

    def harness(self, _kind):
        return self.binary

    def lost(self, _kind, node):
        return "" if node == here() else "is not this machine"

    def start(self, tasks):
        for task in tasks:
            command = [SCRIPT, self.binary, task.file("points"), task.file("records")]
            with open(task.file("log"), "wb") as log:
                process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, preexec_fn=ends_with_us())
            self.children[task.name] = process

    def running(self):
        return [process for process in self.children.values() if process.poll() is None]

    def live(self, tasks):
        return [task for task in tasks if task.name in self.children and self.children[task.name].poll() is None]

    def end(self, task):
        if task.name not in self.children:
            return End("the program that started it has ended", blame=False, again=True)
        status = self.children[task.name].returncode
        if status == 130:
            raise KeyboardInterrupt
        if status < 0:
            return End(f"killed by {signal.Signals(-status).name}", blame=True, again=True)
        said = task.file("log").read_text(encoding="utf-8", errors="replace").strip().splitlines()
        return End(said[-1] if said else f"block.sh: exit status {status}", blame=False, again=False)

    def wait(self):
        try:
            for process in self.running()[:1]:
                process.wait(LOOK)
        except subprocess.TimeoutExpired:
            pass

    def stop(self):
        for process in self.running():
            process.terminate()   # the kernel ends its run
            process.wait()
        return "the same command goes on"
