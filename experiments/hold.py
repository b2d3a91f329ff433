"""Keeps the folder of a sweep for one driver at a time, and leaves no trace of a call that is refused.

A driver writes the file tasks/TOKEN.driver, whose name no other one has. Then it looks at the others. If one of them lives, it removes its
own and is refused. Each driver looks after it has written. So of two that start together, one at least sees the other; perhaps both do, and
both are refused. No lock is taken, since a shared file system may not have any, and no file is ever taken over.

A driver on this machine lives if its process does. One elsewhere lives if its file is younger than STALE seconds: a driver touches it every
BEAT seconds. Both times that are compared are of the folder's file system, so clocks need not agree. A driver that stood still for longer
may find its file gone. It then ends, for another one has the folder.
"""
import contextlib
import json
import os
import signal
import time
import uuid

from input_error import InputError
from processes import boot, started_at

BEAT, STALE = 10, 120   # seconds


def namespace():
    """Names the processes that this one sees: another container of this machine has numbers of its own."""
    return os.readlink("/proc/self/ns/pid")


def is_of_start(folder, kinds=()):
    """True if a folder without sweep.json has only what a call leaves that was killed, or is alive, between its first file and that one."""
    def is_one(path):
        if path.name == "tasks":
            return all(file.suffix == ".driver" for file in path.iterdir())
        if path.name == "failures.jsonl":
            return path.stat().st_size == 0
        return path.name in ("kinds.json", "kinds.json.part", "sweep.json.part") or path.name in kinds and not any(path.iterdir())

    try:
        return all(map(is_one, folder.iterdir()))
    except OSError:   # a file where we have a folder, or it has just gone
        return False


def living_at(path, now):
    """Says where the driver of this file lives; None if it is dead. `now` is the time of the folder's file system."""
    try:
        age = now - path.stat().st_mtime
        about = json.loads(path.read_text(encoding="utf-8"))
        here = about["boot"] == boot() and about["namespace"] == namespace()
        alive = started_at(about["process"]) == about["started"] if here else age < STALE
        where = f"process {about['process']}" + ("" if here else f" on {about['host']}")
    except FileNotFoundError:
        return None   # it has just ended
    except (ValueError, KeyError, TypeError):   # it is being written, or a full disk left it empty
        here, alive, where = False, age < STALE, path.name
    if here:
        last = ""
    elif age > -STALE:
        last = f"; its last sign is {max(0, age):.0f} s old, and after {STALE} s it counts as dead"
    else:   # a clock was set back; whether the driver still gives signs, one look does not tell
        last = f"; its last sign is {-age:.0f} s ahead of the clock; if it has ended, remove {path}"
    return f"{where}{last}" if alive else None


def is_driven(folder):
    """True if a driver of the folder lives, for programs that write nothing there."""
    return any(living_at(path, time.time()) for path in (folder / "tasks").glob("*.driver"))


class Hold:
    """A context in which this process alone runs tasks of the folder; for the main thread, which gets SIGALRM. Raises InputError."""

    def __init__(self, folder, kinds=()):
        self.folder = folder
        self.file = folder / "tasks" / f"{uuid.uuid4().hex[:12]}.driver"
        self.inner = [folder / "tasks" / "slurm", folder / "tasks", *(folder / kind for kind in kinds if kind)]
        self.outer = [folder, *folder.parents]
        self.lost = False
        self.kept = False   # True once something happened that a later call has to know

    def __enter__(self):
        self.inner, self.outer = ([path for path in paths if not path.exists()] for paths in (self.inner, self.outer))
        try:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            about = {"host": os.uname().nodename, "boot": boot(), "namespace": namespace(), "process": os.getpid(),
                     "started": started_at(os.getpid())}
            self.file.write_text(json.dumps(about), encoding="utf-8")
            if living := self.living():
                raise InputError(f"--out: {self.folder}: {living}")
        except (OSError, InputError) as error:
            self.file.unlink(missing_ok=True)
            self.remove([self.folder / "tasks", *self.outer])
            if isinstance(error, OSError):
                raise InputError(f"--out: {error.filename or self.file}: {error.strerror}") from None   # a write names no file
            raise
        self.before = {name: self.read(name) for name in ("sweep.json", "failures.jsonl")}
        self.handler = signal.signal(signal.SIGALRM, self.beat)
        signal.setitimer(signal.ITIMER_REAL, BEAT, BEAT)   # a timer and no thread, since preexec_fn allows none
        return self

    def __exit__(self, kind, error, trace):
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, self.handler)
        self.file.unlink(missing_ok=True)
        if kind is not None and not self.kept and not self.lost:
            with contextlib.suppress(OSError):
                self.undo()

    def living(self):
        """Says which other driver lives; None if none does. Removes the files of dead ones."""
        for path in self.file.parent.glob("*.driver"):
            if path == self.file:
                continue
            if where := living_at(path, self.file.stat().st_mtime):
                return f"another driver runs this sweep: {where}"
            path.unlink(missing_ok=True)
        return None

    def beat(self, *_):
        try:
            os.utime(self.file)
        except FileNotFoundError:
            self.lost = True
        except OSError:
            pass   # the next beat may work

    def check(self):
        """Raises InputError if another driver has taken the folder since this one stood still."""
        if self.lost:
            raise InputError(f"--out: {self.folder}: this driver stood still for more than {STALE} s, and another one has taken over")

    def read(self, name):
        try:
            return (self.folder / name).read_bytes()
        except FileNotFoundError:
            return None

    def undo(self):
        """Takes back what a refused call changed, so that the corrected command finds the folder as this one did."""
        self.remove(self.inner)
        others = {path.name for path in self.folder.iterdir()} - {*self.before, "kinds.json"}
        for name, content in self.before.items():
            if content is not None and self.read(name) != content:
                part = self.folder / f"{name}.part"
                part.write_bytes(content)
                part.rename(self.folder / name)
            elif content is None and not (name == "sweep.json" and others):   # others make no sense without it, such as logs
                (self.folder / name).unlink(missing_ok=True)
        self.remove(self.outer)

    def remove(self, paths):
        """Removes folders that are empty."""
        for path in paths:
            with contextlib.suppress(OSError):
                path.rmdir()
