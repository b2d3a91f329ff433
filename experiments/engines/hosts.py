"""Runs the tasks of a sweep on the hosts of a file, which ssh reaches; GNU parallel starts them there. One task at a time runs on a host.

A line of the file is a host as ssh takes it, [USER@]NAME, and the name of its kind if there are several kinds:

    # name      kind
    ant1        haswell
    me@ant2     haswell
    bee         zen4

No file system need be shared. The harness and two scripts are brought into ~/.cache/latchlab there, once for each build. The harness is
that of this machine where the processors are the same; otherwise a host of the kind builds it (host_builds.py). Points go to a task's
stdin, and records come back at once from its stdout. A host needs ssh without a password, bash, coreutils, tar, flock, perl (for parallel)
and the libraries of the harness.

A task belongs to no driver: where a driver is killed, its tasks go on, and the next one on the same machine finds them by their process
group. Where the connection is lost, parallel's part on the host ends the task.
"""
import contextlib
import io
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tarfile
import time

from engines import kind_builds
from engines.host_builds import HostBuilds
from engines.end import End
from engines.engine import Engine
from input_error import InputError
from plan import OURS
from processes import boot, started_at
from results import digest

HERE = pathlib.Path(__file__).resolve().parent
SCRIPTS = (HERE.parent / "block.sh", HERE / "host.sh")
HOST = re.compile(r"([A-Za-z0-9_.-]+@)?[A-Za-z0-9][A-Za-z0-9_.-]*", re.ASCII)
KIND = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*", re.ASCII)
# No password is asked for. A host that does not answer is given up after 10 s, a silent connection after 20 s.
SSH = ("ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=4")
LOOK = 0.1   # seconds between two looks at the records
LOST = 255   # exit status of ssh without a connection
BUSY = 75    # of host.sh
# Tells whether a host has our files ("here" or "absent"), or why it cannot run tasks. The file system of its home may be shared.
PROBE = """
for tool in perl flock tar setpriv; do
  command -v $tool >/dev/null || [ $tool = setpriv ] || { echo "there is no $tool there" >&2; exit 1; }
done
[ -d "$1" ] || { echo absent; exit; }
said=$("$1/harness" --version 2>&1) || { echo "the harness does not run there: ${said##*$'\\n'}" >&2; exit 1; }
echo here
"""


def read_hosts(path):
    """Returns host -> kind. Raises InputError with the number of a wrong line."""
    try:
        text = pathlib.Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"--on=hosts:{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError(f"--on=hosts:{path}: is no text") from None
    hosts = {}
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split("#")[0].split()
        where = f"{path}:{number}"
        if not words:
            continue
        if len(words) > 2:
            raise InputError(f"{where}: '{words[2]}' is too much; a line is a host, and perhaps its kind")
        host, kind = words[0], words[1] if len(words) == 2 else ""
        if not HOST.fullmatch(host):
            raise InputError(f"{where}: '{host}' is no host as [USER@]NAME; name ports and the like in ssh's own configuration")
        if kind and (not KIND.fullmatch(kind) or kind in OURS):
            raise InputError(f"{where}: '{kind}' is no name of a kind: letters, digits, - and _, and not 'tasks' or 'sbatch'")
        if host in hosts:
            raise InputError(f"{where}: '{host}' is there twice; one task at a time runs on a host")
        if hosts and bool(kind) != bool(next(iter(hosts.values()))):
            raise InputError(f"{where}: either every host has a kind, or none has")
        hosts[host] = kind
    if not hosts:
        raise InputError(f"--on=hosts:{path}: names no host")
    return hosts


def packed(harness):
    """Returns a tar archive of the harness and our scripts."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT, dereference=True) as archive:
        for path, name in ((harness, "harness"), *((script, script.name) for script in SCRIPTS)):
            info = archive.gettarinfo(path, arcname=name)
            info.mode, info.uid, info.gid, info.uname, info.gname = 0o755, 0, 0, "", ""
            with open(path, "rb") as file:
                archive.addfile(info, file)
    return out.getvalue()


def last_line(text, otherwise):
    noise = "parallel: ", "Warning: Permanently added"
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith(noise)]
    return lines[-1] if lines else otherwise


class Hosts(Engine):
    name = "hosts"
    ssh = SSH

    def __init__(self, path, harness, words, pairs=(), out=None):
        """`words` are the values of --binary, which replace the harness of this machine. A build needs `pairs` and the folder of the
        sweep."""
        self.hosts = read_hosts(path)   # host -> kind
        self.kinds = list(dict.fromkeys(self.hosts.values()))
        self.at_once = len(self.hosts)
        self.own = pathlib.Path(harness).resolve()
        self.builds = HostBuilds(kind_builds.brought(words, self.kinds), list(pairs), out)
        self.children = {}   # name of a task -> process, of the tasks that this program started
        self.silent = set()  # hosts that stopped answering
        self.absent = []     # hosts that have not got our files
        self.folders = {}    # kind -> the folder of our files on its hosts, from the home there

    def nodes(self):
        if self.kinds == [""]:
            return f"{len(self.hosts)} hosts" if len(self.hosts) > 1 else "1 host"
        return " and ".join(f"{list(self.hosts.values()).count(kind)} of kind {kind}" for kind in self.kinds)

    def harness(self, kind):
        return self.builds.binaries.get(kind, self.own)

    def folder(self, host):
        return self.folders[self.hosts[host]]

    def check(self):
        """Raises InputError if a host does not answer or cannot run tasks."""
        for program, package in (("parallel", "parallel"), ("ssh", "openssh-client")):
            if not shutil.which(program):
                raise InputError(f"--on=hosts: there is no {program} here; install the package {package}")
        scripts = "".join(script.read_text(encoding="utf-8") for script in SCRIPTS)
        for kind in self.kinds:
            self.folders[kind] = f".cache/latchlab/{kind_builds.short(digest(self.harness(kind)) + scripts)}"
        self.absent = [host for host, said in self.ask(self.hosts).items() if said == "absent"]

    def prepare(self):
        """Brings the harness to every host that has not got it. Raises InputError if it does not run there."""
        self.check()
        before = list(map(self.harness, self.kinds))
        self.builds.make(self)
        if before != list(map(self.harness, self.kinds)):
            self.check()
        for kind in self.kinds:
            if hosts := [host for host in self.absent if self.hosts[host] == kind]:
                self.on_each(hosts, lambda host: self.unpack(host, self.folder(host)), packed(self.harness(kind)))
        for host, said in self.ask(self.absent).items():
            if said != "here":
                raise InputError(f"--on=hosts: {host}: cannot keep the harness in ~/{self.folder(host)}")

    def ask(self, hosts):
        return self.on_each(hosts, lambda host: ["bash", "-s", "--", self.folder(host)], PROBE.encode())

    def unpack(self, host, folder):
        return [f"bash -c 'umask 077; new={folder}.{host}.new; rm -rf $new; mkdir -p $new && tar -xf - -C $new && "
                f"(mv -T $new {folder} 2>/dev/null || rm -rf $new)'"]

    def on_each(self, hosts, command, given):
        """Runs a command on all these hosts at once, and returns what each prints. Raises InputError if one fails."""
        calls = {}
        for host in hosts:
            calls[host] = subprocess.Popen([*SSH, "--", host, *command(host)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                           stderr=subprocess.PIPE)
        said, failed = {}, []
        for host, call in calls.items():
            out, err = call.communicate(given)
            said[host] = out.decode(errors="replace").strip()
            if call.returncode:
                why = "does not answer" if call.returncode == LOST else "cannot run tasks"
                failed.append(f"{host} {why}: {last_line(err.decode(errors='replace'), f'exit status {call.returncode}')}")
        if failed:
            raise InputError(f"--on=hosts: {'; '.join(failed)}")
        return said

    def answering(self, kind):
        """The hosts of a kind that answer; all of them if none does, so that tasks fail with the reason."""
        of_kind = [host for host, of in self.hosts.items() if of == kind]
        return [host for host in of_kind if host not in self.silent] or of_kind

    def place(self, kind, node, tasks):
        busy = {task.node for task in tasks}
        return next((host for host in self.answering(kind) if host not in busy and node in ("", host)), None)

    def lost(self, kind, node):
        if node in self.answering(kind):
            return ""
        return "does not answer" if node in self.hosts else "is no host of the file"

    def foreign(self, task):
        other = task.handle.get("host", os.uname().nodename)
        return super().foreign(task) or ("" if other == os.uname().nodename else f"{other} started it")

    def start(self, tasks):
        for task in tasks:
            command = ["parallel", "--will-cite", "--plain", "--jobs=1", "--ungroup", "--pipe", "--block=100M",
                       f"--joblog={task.file('joblog')}", f"--ssh={' '.join(SSH)}", f"--sshlogin=1/{task.node}",
                       f"bash {self.folder(task.node)}/host.sh {task.node}"]
            with open(task.file("points"), "rb") as points, open(task.file("records.part"), "ab") as records, \
                    open(task.file("log"), "ab") as log:
                child = subprocess.Popen(command, stdin=points, stdout=records, stderr=log, start_new_session=True)
            self.children[task.name] = child
            task.handle = {"host": os.uname().nodename, "boot": boot(), "group": child.pid, "started": started_at(child.pid)}
            task.save()

    def live(self, tasks):
        return [task for task in tasks if self.lives(task)]

    def lives(self, task):
        if child := self.children.get(task.name):
            return child.poll() is None
        handle = task.handle   # empty if its driver was killed before it started the task
        return handle.get("boot") == boot() and handle["started"] is not None and started_at(handle["group"]) == handle["started"]

    def end(self, task):
        status = self.status(task)
        said = last_line(task.file("log").read_text(encoding="utf-8", errors="replace") if task.file("log").exists() else "", "")
        if status is None and task.name in self.children:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.children[task.name].pid, signal.SIGKILL)   # its ssh
            return End(f"{task.node}: parallel was killed here", blame=True, again=True)
        if status is None:
            return End("the program that started it has ended", blame=False, again=True)
        if status == LOST:
            if task.running is None and not task.done:
                self.silent.add(task.node)
            return End(f"{task.node}: the connection was lost: {said}", blame=True, again=True)
        if status == BUSY:
            return End(f"{task.node}: {said}", blame=False, again=True, counts=False)
        if status == 130:
            return End(f"{task.node}: interrupted there", blame=True, again=True)
        if status > 128:
            return End(f"killed by {signal_name(status - 128)}", blame=True, again=True)
        return End(f"{task.node}: {said or f'exit status {status}'}", blame=False, again=False)

    def status(self, task):
        """Returns the exit status that the log of parallel has; None if it has none."""
        try:
            lines = task.file("joblog").read_text(encoding="utf-8").splitlines()
            columns = dict(zip(lines[0].split("\t"), lines[1].split("\t"), strict=True))
            return int(columns["Exitval"]) or (128 + int(columns["Signal"]) if int(columns["Signal"]) else 0)
        except (OSError, IndexError, ValueError, KeyError):
            return None

    def wait(self):
        time.sleep(LOOK)

    def stop(self):
        """Ends all live tasks: parallel's part on each host sees that its connection ends."""
        for child in self.children.values():
            if child.poll() is None:
                os.killpg(child.pid, signal.SIGTERM)
        for child in self.children.values():
            try:
                child.wait(5)
            except subprocess.TimeoutExpired:
                os.killpg(child.pid, signal.SIGKILL)
                child.wait()
        return "the same command goes on"


def signal_name(number):
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
