"""Runs the tasks of a sweep on the nodes of a cluster, through Slurm: --on=slurm[:OPTIONS].

OPTIONS are NAME=VALUE, with commas between them:

    constraint=A+B    kinds of machines: features of nodes; each kind has results of its own. A value a&b asks for both. Default: one kind
    partition, account, qos, time, mem    as sbatch takes them
    setup=LINE        a line of bash that a job runs first, such as `module load gcc`; the last one, as it may have commas

A task is one job on one exclusive node. The tasks of a kind that start together are one job array. Slurm requeues none of them: only the
driver knows what is missing of a block.

Each job's name is in its task's handle before it is submitted, so that no job is ever lost: a driver that was killed finds it by its name.
Slurm's accounting is not needed. A task has ended if its records are whole, or if squeue does not show its job any more. Why it ended is
told by its log, and by `scontrol show job` while Slurm remembers the job.
"""
import contextlib
import io
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import time
import uuid
from dataclasses import dataclass, field

from engines.end import End
from engines.engine import Engine
from engines.kind_builds import KindBuilds
from input_error import InputError
from plan import OURS

SCRIPT = pathlib.Path(__file__).resolve().parents[1] / "block.sh"
MOST = 1000           # tasks of an array: Slurm's default of MaxArraySize is 1001
FIRST, LAST = 1, 15   # seconds between two looks at the queue: FIRST after a change there or in a log, up to LAST while there is none
SILENCE = 300         # seconds for which slurmctld may be silent before the driver ends
DOWN = re.compile("down|drain|drng|fail|error|unk", re.IGNORECASE)   # the beginnings of states; a node that saves power is up
USUAL = {"None", "Priority", "Resources", "BeginTime", "Cleaning", "Prolog"}   # reasons of jobs that start when their turn comes

# What a log says of an end, in the order of looking.
MEMORY = re.compile(r"(exceeded memory limit.*|[Oo]ut [Oo]f [Mm]emory.*|oom[-_ ]kill.*)")
TIME = re.compile(r"DUE TO TIME LIMIT")
NODE = re.compile(r"DUE TO NODE FAILURE|NODE_FAIL")
PREEMPTED = re.compile(r"DUE TO PREEMPTION|DUE TO JOB REQUEUE")
CANCELLED = re.compile(r"CANCELLED AT")


def of_options(text):
    """Returns the options behind --on=slurm: as a dictionary, and the kinds."""
    known = ("constraint", "partition", "account", "qos", "time", "mem", "setup")
    options = {}
    while text:
        word = text if text.startswith("setup=") else text.partition(",")[0]
        text = text[len(word) + 1 :]
        name, equals, value = word.partition("=")
        if not equals or not value or name not in known:
            raise InputError(f"--on=slurm: '{word}' is no option; there are {', '.join(f'{each}=' for each in known)}")
        if name in options:
            raise InputError(f"--on=slurm: {name}= is there twice")
        options[name] = value
    kinds = options.pop("constraint", "slurm").split("+")
    for kind in kinds:
        if not re.fullmatch(r"[A-Za-z0-9][\w.&-]*", kind, re.ASCII) or kind in OURS or kinds.count(kind) > 1:
            raise InputError(f"--on=slurm: constraint={'+'.join(kinds)}: '{kind}' must be a feature of nodes, or some with & between, "
                             "and be there once")
    return options, kinds


def ask(*command):
    """Returns what a command of Slurm prints. Raises InputError in one line."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    except FileNotFoundError:
        raise InputError(f"--on=slurm: there is no {command[0]} here, so this machine is no login node of a cluster with Slurm") from None
    except subprocess.TimeoutExpired:
        raise InputError(f"--on=slurm: {command[0]} does not answer") from None
    if done.returncode != 0:
        raise InputError(f"--on=slurm: {last_line(done.stderr) or f'{command[0]} failed'}")
    return done.stdout


def last_line(text):
    """Returns the last line that is more than a frame."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if "error:" in line]
    return (errors or lines or [""])[-1]


@dataclass(frozen=True)
class Node:
    name: str
    state: str
    features: frozenset
    partition: str
    default: bool

    @property
    def is_up(self):
        return not DOWN.match(self.state)


def nodes_of_cluster():
    nodes = []
    for line in ask("sinfo", "--noheader", "--Node", "--format=%N|%T|%f|%R|%P").splitlines():
        name, state, features, partition, marked = line.split("|")
        nodes.append(Node(name, state, frozenset(features.split(",")), partition, marked.endswith("*")))
    return nodes


@dataclass(frozen=True)
class Job:
    """A job in the queue."""

    id: str      # as scancel takes it
    state: str
    reason: str

    @property
    def waits(self):
        """Why the job may wait for ever, as Slurm says it; "" if nothing tells so."""
        return self.reason if self.state == "PENDING" and self.reason not in USUAL else ""


@dataclass
class Slurm(Engine):
    name = "slurm"
    binary: pathlib.Path   # the harness of this machine
    options: dict
    kinds: list
    builds: KindBuilds
    at_once: int = MOST
    queue: dict = field(default_factory=dict)    # (name, index) -> Job, as squeue said last
    submitted: dict = field(default_factory=dict)   # name of an array -> when it was submitted
    jobs: dict = field(default_factory=dict)     # name of an array -> its number
    mine: set = field(default_factory=set)       # names of arrays with tasks of this sweep
    waits: set = field(default_factory=set)      # reasons of jobs that may wait for ever
    awaited: set = field(default_factory=set)    # names of tasks of scripts that run outside of Slurm
    told: dict = field(default_factory=dict)     # length of the log of each task
    looked: float = 0     # when squeue last answered
    pause: float = FIRST
    by_hand: bool = False   # True if the user runs the tasks, perhaps on nodes that Slurm does not know
    silent: bool = False    # True if the user runs the tasks, and Slurm does not answer: only records tell what has ended

    # --- before anything starts

    def matching(self, kind):
        """Returns the nodes of a kind, in whatever state."""
        partition = self.options.get("partition")
        wanted = set() if self.kinds == ["slurm"] else set(kind.split("&"))
        nodes = [node for node in nodes_of_cluster() if (node.partition == partition if partition else node.default)]
        return [node for node in nodes if wanted <= node.features]

    def check(self):
        """Refuses what the cluster does not have."""
        if not shutil.which("sbatch"):
            raise InputError("--on=slurm: there is no sbatch here, so this machine is no login node of a cluster with Slurm")
        self.check_cluster(nodes_of_cluster())
        self.builds.recall(self.kinds)

    def check_script(self):
        """Refuses what the cluster does not have, for tasks that the user runs; where Slurm does not answer, nothing tells."""
        self.by_hand = True
        try:
            nodes = nodes_of_cluster()
        except InputError:
            self.silent = True
            return
        self.check_cluster(nodes)

    def check_cluster(self, nodes):
        partitions = sorted({node.partition for node in nodes})
        partition = self.options.get("partition")
        if partition and partition not in partitions:
            raise InputError(f"--on=slurm: there is no partition '{partition}'; there are {', '.join(partitions)}")
        if not partition and not any(node.default for node in nodes):
            raise InputError(f"--on=slurm: no partition is the default; give partition=, one of {', '.join(partitions)}")
        for kind in self.kinds:
            if not self.matching(kind):
                features = sorted({feature for node in nodes for feature in node.features} - {"(null)"})
                there = ", ".join(features) or "not set"
                raise InputError(f"--on=slurm: no node of the partition has {kind}; features of nodes are {there}")

    def prepare(self):
        self.check()
        self.builds.make(self)

    def harness(self, kind):
        return self.builds.binaries.get(kind, self.binary)

    @property
    def width(self):
        if self.silent:
            return len(self.kinds)
        return len({node.name for kind in self.kinds for node in self.matching(kind) if node.is_up}) or 1

    def nodes(self):
        if self.silent:
            return f"nodes of {' and '.join(self.kinds)}, whose number Slurm does not tell here"
        said = []
        for kind in self.kinds:
            nodes = {node.name: node for node in self.matching(kind)}.values()
            up = sum(node.is_up for node in nodes)
            said.append(f"{up} nodes of {kind}" + (f" ({len(nodes) - up} more are down)" if up < len(nodes) else ""))
        return " and ".join(said)

    # --- tasks

    def start(self, tasks):
        """Submits an array for each kind, and for each node that a task asks for."""
        arrays = {}
        for task in tasks:
            arrays.setdefault((task.kind, task.node), []).append(task)
        submitted = []
        try:
            for (kind, node), of in arrays.items():
                name = f"latchlab-{uuid.uuid4().hex[:12]}"
                for index, task in enumerate(of):
                    task.handle = {"name": name, "index": index}
                    task.save()
                submitted.append(name)
                job = self.submit(name, kind, node, of[0].folder / "slurm", self.body(kind, of), len(of))
                for task in of:
                    task.handle["job"] = job
                    task.save()
        except InputError as error:
            said = self.cancel(submitted)
            scripts = [path for task in tasks for path in (task.folder / "slurm").glob(".submission_file_*.sh")]   # of submitit
            scripts += [task.folder / "slurm" / f"{task.handle['job']}_submission.sh" for task in tasks if "job" in task.handle]
            for path in set(scripts):
                path.unlink(missing_ok=True)
            raise InputError(f"{error}; {said}") from None
        self.pause = FIRST

    def body(self, kind, tasks):
        """The commands of an array: each of its jobs runs the block of one task."""
        names = " ".join(shlex.quote(task.name) for task in tasks)
        return (
            f"names=({names})\n"
            f"task={shlex.quote(str(tasks[0].folder.resolve()))}/${{names[$SLURM_ARRAY_TASK_ID]}}\n"
            "# The kernel ends the block when Slurm's daemon of this job ends, for whatever reason.\n"
            "with_us=\n"
            "if setpriv --pdeathsig KILL true 2>/dev/null; then with_us='setpriv --pdeathsig KILL'; fi\n"
            f"exec $with_us bash {shlex.quote(str(SCRIPT))} {shlex.quote(str(self.harness(kind).resolve()))} "
            '"$task.points" "$task.records"'
        )

    def emit(self, tasks):
        """Writes a script for each kind and node, which the user hands to sbatch. Returns the paths."""
        arrays = {}
        for task in tasks:
            arrays.setdefault((task.kind, task.node), []).append(task)
        paths = []
        for (kind, node), of in arrays.items():
            name = f"latchlab-{uuid.uuid4().hex[:12]}"
            logs = (of[0].folder / "slurm").resolve()
            logs.mkdir(exist_ok=True)   # sbatch does not make it
            options = {key: value for key, value in self.options.items() if key != "setup"}
            options |= {"constraint": kind} if self.kinds != ["slurm"] else {}
            options |= {"nodelist": node} if node else {}
            options |= {"job-name": name, "array": f"0-{len(of) - 1}", "output": f"{logs}/{name}-%a.log"}
            lines = ["#!/bin/bash", *(f"#SBATCH --{key}={shlex.quote(value)}" for key, value in options.items()), "#SBATCH --exclusive",
                     "#SBATCH --no-requeue", *([self.options["setup"]] if "setup" in self.options else []), self.body(kind, of)]
            path = of[0].folder.parent / "sbatch" / f"{name}.sbatch"
            path.parent.mkdir(exist_ok=True)
            path.write_text("\n".join(lines) + "\n", encoding="utf-8")
            for index, task in enumerate(of):
                task.handle = {"name": name, "index": index, "emitted": True}
                task.save()
            paths.append(path)
        return paths

    def executor(self, name, kind, node, folder, size):
        """Returns submitit's executor of an array, for a body of bash. Python need not be on the node."""
        try:
            import submitit
        except ImportError:
            raise InputError("--on=slurm needs the module submitit; ./bench sweep installs it") from None
        folder.mkdir(parents=True, exist_ok=True)
        executor = submitit.SlurmExecutor(folder=folder)
        setup = self.options.get("setup")
        executor.update_parameters(
            job_name=name,
            exclusive=True,
            constraint=None if self.kinds == ["slurm"] else kind,
            nodelist=node or None,
            setup=[setup] if setup else None,
            wckey=None,                # submitit's default would be refused where such keys are checked
            use_srun=False,            # so a job has all processors of its node, and not those of one step
            stderr_to_stdout=True,
            array_parallelism=MOST,
            additional_parameters={"no-requeue": True, "output": f"{folder.resolve()}/{name}-%a.log", "open-mode": "truncate"},
            **{key: value for key, value in self.options.items() if key != "setup"},
            **({} if "time" in self.options else {"time": None}),   # submitit's default is 5 minutes; the partition has a better one
        )
        executor.parameters["map_count"] = size
        return executor

    def submit(self, name, kind, node, folder, body, size):
        """Submits an array, and returns its number. Raises InputError."""
        executor = self.executor(name, kind, node, folder, size)
        self.mine.add(name)
        said = io.StringIO()
        try:
            with contextlib.redirect_stderr(said):   # submitit passes on what sbatch writes
                job = executor._submit_command(body).job_id   # its docstring: for commands whose results submitit does not collect
        except OSError as error:
            raise InputError(f"{error.filename}: {error.strerror}") from None
        except RuntimeError as error:
            errors = [line.removeprefix("sbatch: error: ") for line in said.getvalue().splitlines() if "error: " in line]
            raise InputError(f"--on=slurm: {'; '.join(errors) or last_line(str(error))}") from None
        self.submitted[name], self.jobs[name] = time.monotonic(), job
        return job

    def cancel(self, names):
        """Cancels arrays by their names, and says what is left of them."""
        try:
            ask("scancel", f"--name={','.join(names)}")
            return "none of these tasks is submitted"
        except InputError:
            return f"perhaps jobs were submitted: scancel --name={','.join(names)}"

    def look(self):
        """Asks for the queue, unless that was just now. Returns whether it did."""
        now = time.monotonic()
        if self.looked and now - self.looked < self.pause:
            return False
        if self.silent:
            self.looked = now
            return True
        try:
            lines = ask("squeue", "--noheader", "--array", f"--user={os.getuid()}", "--format=%j|%K|%F|%A|%T|%r").splitlines()
        except InputError as error:
            if now - self.looked > SILENCE or not self.looked:
                raise InputError(f"{error}; {self.stop()}") from None
            self.pause = LAST
            return False
        queue = {}
        for line in lines:
            name, index, array, single, state, reason = line.split("|", 5)
            if name.startswith("latchlab-"):
                queue[name, int(index) if index.isdigit() else 0] = Job(f"{array}_{index}" if index.isdigit() else single, state, reason)
        self.pause = FIRST if queue != self.queue else min(LAST, self.pause * 1.5)
        self.queue, self.looked = queue, now
        self.tell_waits()
        return True

    def tell_waits(self):
        """Prints each new reason for which jobs of this sweep may wait for ever."""
        jobs = {}
        for (name, _), job in self.queue.items():
            if name in self.mine and job.waits:
                jobs.setdefault(job.waits, []).append(job.id)
        for reason in sorted(jobs.keys() - self.waits):
            print(f"sweep: {len(jobs[reason])} jobs wait: {reason} (such as {jobs[reason][0]}); if they can never run, interrupt and "
                  "scancel", file=sys.stderr, flush=True)
        self.waits = set(jobs)

    def looked_since(self, name):
        """True if squeue answered after an array was submitted, so that the queue tells whether it has ended."""
        return self.looked > self.submitted.get(name, -1)

    def job_of(self, task):
        return self.queue.get((task.handle.get("name"), task.handle.get("index")))

    def live(self, tasks):
        if not tasks:
            return []
        self.mine |= {task.handle.get("name") for task in tasks}
        told = {task.name: len(self.log_of(task)) for task in tasks}
        if told != self.told:   # a log gets a line when a job is killed, so the queue changes soon
            self.told, self.pause = told, FIRST
        if self.look():
            for task in tasks:
                job = self.job_of(task)
                waits = job.waits if job else ""
                if waits != task.handle.get("waits", ""):   # for ./bench sweep status
                    task.handle["waits"] = waits
                    task.save()
                if task.node and job and job.state == "PENDING" and self.lost(task.kind, task.node):   # it would wait for ever
                    with contextlib.suppress(InputError):   # it has just ended
                        ask("scancel", job.id)
                    task.handle["lost"] = True
                    del self.queue[task.handle["name"], task.handle["index"]]
        return [task for task in tasks if not self.has_ended(task)]

    def has_ended(self, task):
        """Tells whether a task has ended. Outside of Slurm, or where Slurm is silent, one of a script has if its records are whole, and
        the user may make them so. One that has not begun ends when a driver takes over, since block.sh does not start without its
        points."""
        if task.is_whole or self.job_of(task) or not self.looked_since(task.handle.get("name")):
            return task.is_whole
        if not self.silent and ("emitted" not in task.handle or not task.has_begun or self.log_file(task).exists()):
            return True
        if task.name not in self.awaited:
            self.awaited.add(task.name)
            print(f"sweep: {task.name} has begun and not ended; if it was killed, say so: "
                  f"mv {task.file('records.part')} {task.file('records')}", file=sys.stderr, flush=True)
        return False

    def lost(self, kind, node):
        if self.silent:
            return ""
        nodes = self.matching(kind)
        here = [each for each in nodes if each.name == node]
        if any(each.is_up for each in here) or not any(each.is_up for each in nodes):
            return ""
        if not here and self.by_hand:
            return ""
        return "is down" if here else f"is no node of {kind}"

    def wait(self):
        time.sleep(min(self.pause, 2))

    def stop(self):
        arrays = {job.id.partition("_")[0] for (name, _), job in self.queue.items() if name in self.mine}
        arrays |= {job for name, job in self.jobs.items() if not self.looked_since(name)}
        if not arrays:
            return "the same command goes on"
        return f"jobs go on, and the same command collects them; to end them: scancel {' '.join(sorted(arrays, key=int))}"

    # --- why a task ended

    def end(self, task):
        if task.handle.get("lost"):
            return End(f"node {task.node} is down, so the block begins anew on another", blame=False, again=True)
        if not {"job", "emitted"} & task.handle.keys():
            return End("the driver was killed before it was submitted", blame=False, again=True)
        log = self.log_of(task)
        shown = self.shown(task)
        where = f" on {task.where or shown.get('NodeList') or 'its node'}"
        state, reason = shown.get("JobState", ""), shown.get("Reason", "")
        if found := MEMORY.search(log):
            return End(f"out of memory{where}: {found[0]}", blame=True, again=True)
        if state == "OUT_OF_MEMORY":
            return End(f"out of memory{where}", blame=True, again=True)
        if TIME.search(log) or state in ("TIMEOUT", "DEADLINE"):
            # A point that ran alone needs more than the limit; another may only have had too little left.
            return End(f"the time limit of the job was over{where}", blame=not task.done, again=True)
        if state in ("NODE_FAIL", "BOOT_FAIL") or NODE.search(log):
            return End(f"the node failed{where}", blame=False, again=True)
        if state == "PREEMPTED" or PREEMPTED.search(log):
            return End(f"another job took the node{where}", blame=False, again=True)
        if state == "CANCELLED" or CANCELLED.search(log):
            return End(f"cancelled{where}", blame=False, again=False)
        code, _, signal_number = shown.get("ExitCode", "").partition(":")
        if signal_number not in ("", "0"):
            return End(f"killed by signal {signal_number}{where}", blame=True, again=True)
        said = last_line(log)
        if code not in ("", "0") or said.startswith("block.sh: "):
            words = said or f"the job ended with exit status {code}" + (f" ({reason})" if reason not in ("", "None") else "")
            return End(f"{words}{where}", blame=False, again=False)
        if "emitted" in task.handle and not self.log_file(task).exists():
            return End(f"it ended{where}, outside of Slurm", blame=False, again=True)
        return End(said or f"its job ended{where}, and Slurm does not tell why", blame=False, again=True)

    def log_of(self, task):
        try:
            return self.log_file(task).read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""

    def log_file(self, task):
        """The log that Slurm makes when the job of a task begins."""
        return task.folder / "slurm" / f"{task.handle.get('name')}-{task.handle.get('index')}.log"

    def shown(self, task):
        """What Slurm still knows of the job of a task. It may know one that was cancelled before it began only as part of its array."""
        if "job" not in task.handle:
            return {}
        array = task.handle["job"]
        for job in (f"{array}_{task.handle['index']}", array):
            try:
                text = ask("scontrol", "show", "job", job)
            except InputError:
                text = ""
            record = text.partition("\n\n")[0]   # that of an array itself is the first of it
            shown = dict(word.split("=", 1) for word in record.split() if "=" in word)
            if shown or self.log_file(task).exists():
                return shown
        return {}
