"""Runs an experiment on an engine: starts tasks, keeps their results, and says what failed and why.

The same call goes on after any interruption. Tasks of an earlier program that still run are awaited; what they and ended tasks left is
kept. A point counts as failed if its run failed, or if its task ended at it. Then another task runs the rest of the block.
"""
import json
import sys
import time
from dataclasses import dataclass

import blocks
from input_error import InputError

TRIES = 3     # tasks in a row that may end before a block makes progress
REPORT = 10   # seconds between two reports, for engines that run many tasks at once


@dataclass(frozen=True)
class Failure:
    kind: str
    point: object
    replicate: int
    reason: str


class Driver:
    """`results` has the Results of each kind."""

    def __init__(self, experiment, engine, results, folder):
        self.experiment, self.engine, self.results = experiment, engine, results
        self.folder = folder / "tasks"
        try:
            self.folder.mkdir(exist_ok=True)
            self.tasks = blocks.tasks_in(self.folder)
            self.said = open(folder / "failures.jsonl", "w", encoding="utf-8")
        except OSError as error:
            raise InputError(f"--out: {error.filename}: {error.strerror}") from None
        self.points = {point.arguments: point for point in experiment.points}
        self.failures = {}   # (kind, arguments, replicate) -> Failure
        self.vain = {}       # (kind, replicate) -> tasks in a row that brought nothing
        self.tries = {}      # (kind, replicate) -> attempts so far
        for task in self.tasks:
            block = task.kind, task.replicate
            self.tries[block] = max(self.tries.get(block, 0), task.attempt)
        self.begun, self.made, self.reported = time.monotonic(), 0, 0

    # What there is to do

    def pending(self, kind, replicate):
        """Returns the points of a block that still have to run, each with its place in the block."""
        results = self.results[kind]
        return [
            (place, point)
            for place, point in enumerate(blocks.order(self.experiment, replicate))
            if (point.arguments, replicate) not in results.known
            and (kind, point.arguments, replicate) not in self.failures
            and results.why_left_out(point) is None
        ]

    def blocks(self):
        return [(kind, replicate) for kind in self.engine.kinds for replicate in range(self.experiment.replicates)]

    def left(self):
        return sum(len(self.pending(*block)) for block in self.blocks())

    def next_tasks(self):
        """Returns new tasks for blocks that have none, as many as the engine takes."""
        busy = {(task.kind, task.replicate) for task in self.tasks}
        tasks = []
        for kind, replicate in self.blocks():
            if len(self.tasks) + len(tasks) >= self.engine.at_once:
                break
            if (kind, replicate) in busy or not (pending := self.pending(kind, replicate)):
                continue
            attempt = self.tries[kind, replicate] = self.tries.get((kind, replicate), 0) + 1
            task = blocks.Task(kind, replicate, attempt, [point.arguments for _, point in pending], self.folder,
                               node=self.node_of(kind, replicate))
            task.write([place for place, _ in pending])
            tasks.append(task)
        return tasks

    def node_of(self, kind, replicate):
        """Returns the node that ran the beginning of a block, so that it runs the rest too; "" if any may."""
        results = self.results[kind]
        for point in self.experiment.distinct():
            if (run := results.runs.get((point.arguments, replicate))) and "node" in run:
                return run["node"]
        return ""

    # What came of it

    def take(self, task):
        """Keeps the news of a task."""
        before = task.running
        for outcome in task.news():
            self.made += 1
            self.vain[task.kind, task.replicate] = 0
            if outcome.failure:
                self.fail(task, outcome.arguments, outcome.failure)
            elif point := self.points.get(outcome.arguments):   # an earlier command may have had others
                if (point.arguments, task.replicate) not in self.results[task.kind].known:
                    self.results[task.kind].add(point, task.replicate, outcome.document, outcome.run)
        if self.engine.at_once == 1 and task.running is not None and task.running != before:
            self.report(" ".join(task.arguments[task.running]))

    def fail(self, task, arguments, reason):
        if (point := self.points.get(arguments)) is None:
            return
        self.failures[task.kind, arguments, task.replicate] = Failure(task.kind, point, task.replicate, reason)
        record = {"kind": task.kind, "arguments": arguments, "replicate": task.replicate, "reason": reason}
        self.said.write(json.dumps(record) + "\n")
        self.said.flush()

    def finish(self, task):
        """Settles a task that has ended."""
        self.take(task)
        block = task.kind, task.replicate
        if task.left:
            end = self.engine.end(task)
            if end.blame and task.running is not None:
                self.fail(task, task.arguments[task.running], end.reason)
                self.vain[block] = 0
            else:
                self.vain[block] = self.vain.get(block, 0) + 1
            if not end.again or self.vain[block] == TRIES:
                for number in task.left:
                    if (task.kind, task.arguments[number], task.replicate) not in self.failures:
                        self.fail(task, task.arguments[number], end.reason)
        task.forget()
        self.tasks.remove(task)

    def report(self, what):
        total = sum(len(self.experiment.distinct()) for _ in self.blocks())
        left = self.left()
        ready = f", at most {(time.monotonic() - self.begun) / self.made * left / 60:.1f} min left" if self.made else ""
        print(f"[{total - left + 1}/{total}{ready}] {what}", file=sys.stderr)

    def run(self):
        """Runs everything that is left, and returns the failures. Raises KeyboardInterrupt with what to tell the user."""
        try:
            while True:
                live = self.engine.live(self.tasks)
                for task in list(self.tasks):
                    if task in live:
                        self.take(task)
                    else:
                        self.finish(task)
                if tasks := self.next_tasks():
                    self.engine.start(tasks)
                    self.tasks += tasks
                elif not self.tasks:
                    return list(self.failures.values())
                self.engine.wait()
        except KeyboardInterrupt:
            said = self.engine.stop()
            for task in self.tasks:
                self.take(task)
            raise KeyboardInterrupt(said) from None
        finally:
            self.said.close()
