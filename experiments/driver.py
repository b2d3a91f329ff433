"""Runs a plan on an engine: starts tasks, keeps their results, and says what failed and why.

The same call goes on after any interruption. Tasks of an earlier program that still run are awaited; what they and ended tasks left is
kept. A point counts as failed if its run failed, or if its task ended at it. Then another task runs the rest of the block.
"""
import json
import sys
import time

import blocks
import machines
import plan as plans
from input_error import InputError

TRIES = 3     # tasks in a row that may end before a block makes progress
REPORT = 10   # seconds between two reports, for engines that run many tasks at once
AGAIN, PATIENCE = 20, 300   # seconds between two tries to start tasks that are refused in the middle of a sweep, and of all such tries


class Driver:
    def __init__(self, plan, engine, folder, hold):
        """`hold` is the Hold of the folder, within which this driver lives."""
        self.plan, self.engine, self.hold = plan, engine, hold
        self.folder = folder / "tasks"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            for kind in engine.kinds:
                plans.folder_of(folder, kind).mkdir(exist_ok=True)
            self.tasks = blocks.tasks_in(self.folder)
            self.said = open(folder / "failures.jsonl", "wb", buffering=0)   # a write fails where it is made, and close cannot
        except OSError as error:
            raise InputError(f"--out: {error.filename or folder}: {error.strerror}") from None
        if strange := {task.kind for task in self.tasks} - set(engine.kinds):
            raise InputError(f"--on: {folder} has a task of kind '{min(strange)}', which --on does not name; go on with the --on that did, "
                             "or remove its files in tasks if it never runs")
        for task in self.tasks:
            if not task.is_whole and (why := engine.foreign(task)):
                raise InputError(f"--on: {task.file('json')}: {why}, and it may still run; go on there until it has ended, or remove its "
                                 "files if it has")
        hold.kept |= bool(self.tasks)
        plan.failures = {}   # what failed before is tried again
        self.points = {point.arguments: point for point in plan.experiment.points}
        self.vain = {}   # (kind, replicate) -> tasks in a row that brought nothing
        self.waits = {}  # the same -> why its last task could not begin, which counts as no try
        self.tries = {}  # (kind, replicate) -> attempts so far
        for task in self.tasks:
            block = task.kind, task.replicate
            self.tries[block] = max(self.tries.get(block, 0), task.attempt)
        self.reported = time.monotonic()
        self.began = False   # True once this call has started a task
        self.refused = None  # when the engine began to refuse tasks since
        self.again = 0       # no task is started before this time

    def next_tasks(self):
        """Returns new tasks for blocks that have none, as many as the engine takes."""
        busy = {(task.kind, task.replicate) for task in self.tasks}
        tasks = []
        for kind, replicate in self.plan.blocks():
            if len(self.tasks) + len(tasks) >= self.engine.at_once:
                break
            if (kind, replicate) in busy or not self.plan.block(kind, replicate).left:
                continue
            node = self.plan.node_of(kind, replicate)
            if node and (why := self.engine.lost(kind, node)):   # the rest of the block cannot be paired with what another node measured
                aside = self.plan.put_aside(kind, replicate)
                print(f"sweep: {kind + ' ' if kind else ''}block{replicate}: node {node} {why}; {aside} results are put aside, and the "
                      "block begins anew on another", file=sys.stderr, flush=True)
                node = ""
            if (node := self.engine.place(kind, node, self.tasks + tasks)) is None:
                continue
            pending = self.plan.pending(kind, replicate)
            attempt = self.tries[kind, replicate] = self.tries.get((kind, replicate), 0) + 1
            task = blocks.Task(kind, replicate, attempt, [point.arguments for _, point in pending], self.folder, node, self.engine.name)
            task.write([place for place, _ in pending])
            tasks.append(task)
        return tasks

    def take(self, task):
        """Keeps the news of a task."""
        before = task.running
        for outcome in task.news():
            self.vain[task.kind, task.replicate] = 0
            if outcome.failure:
                self.fail(task, outcome.arguments, outcome.failure)
            elif point := self.points.get(outcome.arguments):   # an earlier command may have had others
                if (point.arguments, task.replicate) not in self.plan.results[task.kind].known:
                    self.plan.keep(task.kind, point, task.replicate, outcome.document, outcome.run)
        if task.running is not None and task.running != before:
            self.report(task)

    def fail(self, task, arguments, reason):
        if arguments not in self.points:
            return
        self.plan.fail(task.kind, arguments, task.replicate, reason)
        record = {"kind": task.kind, "arguments": arguments, "replicate": task.replicate, "reason": reason}
        try:
            self.said.write(json.dumps(record).encode() + b"\n")
        except OSError as error:
            raise OSError(error.errno, error.strerror, self.said.name) from None

    def finish(self, task):
        """Settles a task that has ended."""
        self.take(task)
        block = task.kind, task.replicate
        if task.left:
            end = self.engine.end(task)
            if end.counts or self.waits.get(block) != end.reason:
                print(f"sweep: {task.name}: {end.reason}; {len(task.left)} of its {len(task.arguments)} runs are left", file=sys.stderr,
                      flush=True)
            self.waits[block] = None if end.counts else end.reason
            if end.blame and task.running is not None:
                self.fail(task, task.arguments[task.running], end.reason)
                self.vain[block] = 0
            else:
                self.vain[block] = self.vain.get(block, 0) + end.counts
            if not end.again or self.vain[block] == TRIES:
                for number in task.left:
                    if (task.kind, task.arguments[number], task.replicate) not in self.plan.failures:
                        self.fail(task, task.arguments[number], end.reason)
        task.forget()
        self.tasks.remove(task)

    def collect(self):
        """Keeps the news of all tasks, and settles those that have ended."""
        live = self.engine.live(self.tasks)
        for task in list(self.tasks):
            if task in live:
                self.take(task)
            else:
                self.finish(task)

    def report(self, task):
        """Prints how much is left: at every run if one task runs at a time, otherwise now and then."""
        if self.engine.at_once > 1 and time.monotonic() - self.reported < REPORT:
            return
        self.reported = time.monotonic()
        left = sum(self.plan.left(kind) for kind in self.engine.kinds)
        total = self.plan.total()
        if self.engine.at_once == 1:
            place, what = f"{total - left + 1}/{total}", " ".join(task.arguments[task.running])
        else:
            place, what = f"{total - left}/{total}", f"{len(self.plan.failures)} failed, {len(self.tasks)} tasks"
        seconds = self.plan.seconds_left(max(1, sum(task.running is not None for task in self.tasks)))
        ready = f", about {plans.in_words(seconds)} left" if seconds is not None else ""
        print(f"[{place}{ready}] {what}", file=sys.stderr, flush=True)

    def emit(self):
        """Collects what came of earlier scripts, and has scripts written for what is missing. Returns the tasks that have not ended, and
        the paths of the new scripts."""
        waiting = [task for task in self.tasks if not task.has_begun]
        try:
            self.engine.check_script()
            self.tasks = [task for task in self.tasks if task.has_begun]
            self.collect()
            self.tasks += waiting
            tasks = self.next_tasks()
            self.tasks += tasks
            paths = self.engine.emit(tasks)
            self.hold.kept = True
            return self.tasks, paths
        except OSError as error:
            raise InputError(f"{error.filename or self.folder}: {error.strerror}; what was kept stays") from None
        finally:
            self.said.close()
            self.mark_shared()

    def mark_shared(self):
        """Makes runs noisy that another node disturbed since both are one machine."""
        try:
            if noisy := machines.mark_shared(self.plan.results):
                print(f"sweep: {noisy} runs are noisy: two nodes were one machine at the same time", file=sys.stderr)
        except OSError as error:
            print(f"sweep: runs of nodes that are one machine are not marked as noisy: {error.strerror}; give the same command again",
                  file=sys.stderr)

    def start(self, tasks):
        try:
            self.engine.start(tasks)
        except InputError as error:
            for task in tasks:
                task.forget()
            self.bear(tasks, error)
            return
        self.tasks += tasks
        self.hold.kept = self.began = True
        self.refused = None

    def bear(self, tasks, error):
        """Goes on although tasks are refused, if others of this call were not. Raises InputError otherwise, and lists what goes on."""
        if not self.began:
            raise InputError(f"{error}; {self.engine.stop()}" if self.tasks else str(error))
        now = time.monotonic()
        if self.refused is None:
            self.refused = now
            print(f"sweep: {error}; {len(self.tasks)} others go on, and for {PATIENCE} s it is tried again", file=sys.stderr, flush=True)
        elif now - self.refused >= PATIENCE:
            for task in tasks:
                for arguments in task.arguments:
                    self.fail(task, arguments, str(error))
        self.again = now + AGAIN

    def run(self):
        """Runs everything that is left. Raises KeyboardInterrupt with what to tell the user."""
        try:
            while True:
                self.hold.check()
                self.collect()
                if time.monotonic() >= self.again:
                    if tasks := self.next_tasks():
                        self.start(tasks)
                    elif not self.tasks:
                        return
                self.engine.wait()
        except KeyboardInterrupt:
            said = self.engine.stop()
            try:
                for task in self.tasks:
                    self.take(task)
            except OSError:
                pass   # the files of the task still have the outcome
            raise KeyboardInterrupt(said) from None
        except InputError:
            if self.hold.lost:   # the other driver begins tasks of its own
                self.engine.stop()
            raise
        except OSError as error:   # such as a full disk
            said = self.engine.stop()
            raise InputError(f"{error.filename or self.folder}: {error.strerror}; what was kept stays, and {said}") from None
        finally:
            self.said.close()
            self.mark_shared()
