"""The harness of each kind of machine of a cluster. A job on a node of the kind builds it, unless it is there (experiments/kinds.py).
Hosts have theirs by host_builds.py.
"""
import hashlib
import json
import pathlib
import shlex
import subprocess
import sys
import time
import uuid
from dataclasses import dataclass, field

from input_error import InputError

TREE = pathlib.Path(__file__).resolve().parents[2]
JOBS = TREE / "build/kinds/jobs"
LOOK = 0.5   # seconds between two looks for an answer


def source_of(tree):
    """Names the source: the commit, and a digest of what differs from it."""
    def git(*words):
        return subprocess.run(["git", "-C", tree, *words], capture_output=True, check=True).stdout

    try:
        commit = git("rev-parse", "HEAD").decode().strip()
        changes = hashlib.sha256(git("diff", "HEAD", "--binary"))
        others = git("ls-files", "--others", "--exclude-standard", "-z").split(b"\0")[:-1]
        for name in others:
            changes.update(name + b"\0" + (tree / name.decode()).read_bytes())
        return commit if changes.digest() == hashlib.sha256().digest() else f"{commit}+{changes.hexdigest()[:12]}"
    except (OSError, subprocess.CalledProcessError):
        raise InputError("--on: git cannot name the commit to build; bring a binary by --binary=PATH") from None


def short(text):
    """Returns a name for a folder."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def brought(words, kinds):
    """Reads --binary=[KIND:]PATH, each of `words`, and returns the paths by kind."""
    binaries = {}
    for word in words:
        kind, colon, path = word.partition(":")
        if not colon or kind not in kinds:
            kind, path = "", word
        binary = pathlib.Path(path)
        if not binary.is_file():
            raise InputError(f"--binary={word}: there is no such file" + (f"; kinds are {', '.join(kinds)}" if colon else ""))
        for each in [kind] if kind else kinds:
            if each in binaries:
                raise InputError(f"--binary={word}: there are two binaries for {each or 'this machine'}")
            binaries[each] = binary.resolve()
    return binaries


@dataclass
class KindBuilds:
    binaries: dict        # kind -> path of its harness, as far as it is known
    pairs: list           # the index:policy pairs that it needs
    folder: pathlib.Path  # of the sweep: kinds.json there remembers the builds
    wanted: dict = field(default_factory=dict)
    jobs: dict = field(default_factory=dict)   # kind -> name of the job that builds for it, perhaps since an earlier call

    def make(self, engine):
        """Has the missing binaries built. Raises InputError, and then no build goes on."""
        if all(kind in self.binaries for kind in engine.kinds):
            return
        try:
            for kind in engine.kinds:
                if kind not in self.binaries and kind not in self.jobs:
                    self.jobs[kind] = self.submit(engine, kind)
                    self.remember()   # a driver that is killed from now on leaves no job that the next call does not know
            for kind, name in self.jobs.items():
                self.binaries[kind] = self.answer(engine, kind, name)
        except (InputError, KeyboardInterrupt):
            if self.jobs:
                engine.cancel(self.jobs.values())
                (self.folder / "kinds.json").unlink(missing_ok=True)
            raise
        self.jobs = {}
        self.remember()

    def recall(self, kinds):
        """Takes the builds of an earlier call for the same source and pairs."""
        if all(kind in self.binaries for kind in kinds):
            return
        self.wanted = {"source": source_of(TREE), "pairs": sorted(self.pairs)}
        try:
            kept = json.loads((self.folder / "kinds.json").read_text(encoding="utf-8"))
            for kind in kinds if kept["wanted"] == self.wanted else ():
                if kind not in self.binaries and pathlib.Path(kept["binaries"].get(kind, "")).is_file():
                    self.binaries[kind] = pathlib.Path(kept["binaries"][kind])
                elif kind not in self.binaries and kind in kept.get("jobs", {}):
                    self.jobs[kind] = kept["jobs"][kind]
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            pass   # they are asked for again

    def remember(self):
        """Writes kinds.json, so that the same command needs no job to find its binaries."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            part = self.folder / "kinds.json.part"
            binaries = {kind: str(path) for kind, path in self.binaries.items()}
            part.write_text(json.dumps({"wanted": self.wanted, "binaries": binaries, "jobs": self.jobs}), encoding="utf-8")
            part.rename(self.folder / "kinds.json")
        except OSError as error:
            raise InputError(f"--out: {error.filename}: {error.strerror}") from None

    def submit(self, engine, kind):
        name = f"latchlab-{uuid.uuid4().hex[:12]}"
        JOBS.mkdir(parents=True, exist_ok=True)
        words = ["python3", "-B", str(TREE / "experiments/kinds.py"), str(TREE), self.wanted["source"], ";".join(self.wanted["pairs"]),
                 str(JOBS / f"{name}.json")]
        engine.submit(name, kind, "", JOBS, f"exec {shlex.join(words)}", 1)
        print(f"sweep: {kind}: a job sees to the harness of this kind; its log is {JOBS}/{name}-0.log", file=sys.stderr)
        return name

    def answer(self, engine, kind, name):
        """Waits for the answer of a job, and returns the path of the harness."""
        file = JOBS / f"{name}.json"
        log = JOBS / f"{name}-0.log"
        engine.mine.add(name)   # it may be of an earlier call
        while not file.exists():
            engine.look()
            if (name, 0) not in engine.queue and engine.looked_since(name) and not file.exists():
                said = log.read_text(errors="replace").strip().splitlines()[-1:] if log.exists() else []
                last = (said or ["it wrote nothing"])[0]
                raise InputError(f"--on=slurm: {kind}: the job that builds its harness ended: {last}; see {log}")
            time.sleep(LOOK)
        answer = json.loads(file.read_text(encoding="utf-8"))
        if "error" in answer:
            raise InputError(f"--on=slurm: {kind}: no harness could be built on {answer['node']}: {answer['error']}; see {log}")
        print(f"sweep: {kind}: {answer['harness']} ({answer['model']}, {answer['compiler']})", file=sys.stderr)
        return pathlib.Path(answer["harness"])
