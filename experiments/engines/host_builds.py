"""The harness of each kind of hosts: that of this machine where the processors are the same; otherwise one of the hosts builds it.

A build is made before any task starts, once for all kinds with the same processor, and not beside a task of another sweep: it takes the
lock of tasks on that host (host.sh). The host gets the sources into ~/.cache/latchlab, and needs Python and what `./bench` builds with. The
harness is fetched into build/kinds here, from where all hosts of the kind get it.
"""
import io
import json
import pathlib
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
import uuid

import kinds
from engines import kind_builds
from engines.kind_builds import KindBuilds
from input_error import InputError

BUILD = """
exec 9>>"${XDG_RUNTIME_DIR:-/tmp}/latchlab-$UID.lock" || exit 3
flock -w 20 9 || { echo "a task of another sweep runs there" >&2; exit 75; }
command -v python3 >/dev/null || { echo "there is no python3 to build a harness; --binary=[KIND:]PATH brings one" >&2; exit 1; }
answer=$(mktemp) || exit 3
python3 -B "$1/experiments/kinds.py" "$1" "$2" "$3" "$answer" >"$1.log" 2>&1 </dev/null
cat "$answer"
rm "$answer"
"""


def sources(tree):
    """Returns a tar archive of the sources as they are now, with a repository of one commit, from which a build takes its name."""
    def git(*words):
        return subprocess.run(["git", *words], capture_output=True, check=True).stdout

    with tempfile.TemporaryDirectory(prefix="latchlab-") as scratch:
        copy = pathlib.Path(scratch) / "tree"
        try:
            git("clone", "--quiet", "--depth=1", f"file://{tree}", str(copy))
            names = git("-C", tree, "diff", "HEAD", "--name-only", "--no-renames", "-z")
            names += git("-C", tree, "ls-files", "--others", "--exclude-standard", "-z")
            for name in names.decode().split("\0")[:-1]:
                (copy / name).unlink(missing_ok=True)
                if (tree / name).exists():
                    (copy / name).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy2(tree / name, copy / name)
        except (OSError, subprocess.CalledProcessError) as error:
            said = (getattr(error, "stderr", None) or str(error).encode()).decode(errors="replace").strip().splitlines()
            raise InputError(f"--on=hosts: the sources cannot be packed: {said[-1]}") from None
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w") as archive:
            for path in sorted(copy.iterdir()):
                archive.add(path, path.name)
        return out.getvalue()


class HostBuilds(KindBuilds):
    def make(self, engine):
        """Has the missing binaries built that this machine's cannot stand for, and adds all to `binaries`."""
        first = {kind: host for host, kind in reversed(engine.hosts.items())}
        missing = {kind: first[kind] for kind in engine.kinds if kind not in self.binaries}
        said = engine.on_each(missing.values(), lambda _: ["cat", "/proc/cpuinfo"], b"")
        of = {kind: kinds.processor(said[host]) for kind, host in missing.items()}
        foreign = [kind for kind in missing if of[kind] != kinds.processor()]
        self.binaries |= {kind: engine.own for kind in missing if kind not in foreign}
        if not foreign:
            return
        self.recall(engine.kinds)
        one = {}   # processor -> the kind that builds for it
        for kind in foreign:
            if kind not in self.binaries:
                one.setdefault(of[kind], kind)
        if one:
            built = self.build(engine, {kind: missing[kind] for kind in one.values()})
            self.binaries |= {kind: built[one[of[kind]]] for kind in foreign if kind not in self.binaries}
            self.remember()

    def build(self, engine, hosts):
        """Builds on one host of each kind, at the same time. Returns kind -> path."""
        for kind, host in hosts.items():
            print(f"sweep: {kind or 'hosts'}: {host} sees to a harness for its processor", file=sys.stderr)
        folder = f".cache/latchlab/source-{kind_builds.short(self.wanted['source'])}"
        there = engine.on_each(hosts.values(), lambda _: [f"test -d {folder} && echo here || true"], b"")
        if absent := [host for host, said in there.items() if said != "here"]:
            engine.on_each(absent, lambda host: engine.unpack(host, folder), sources(kind_builds.TREE))
        words = [folder, self.wanted["source"], ";".join(self.wanted["pairs"])]
        said = engine.on_each(hosts.values(), lambda _: [shlex.join(["bash", "-s", "--", *words])], BUILD.encode())
        return {kind: self.fetch(engine, host, said[host], f"{folder}.log") for kind, host in hosts.items()}

    def fetch(self, engine, host, said, log):
        """Brings what a host built into build/kinds, and returns its path."""
        try:
            answer = json.loads(said)
        except ValueError:
            raise InputError(f"--on=hosts: {host}: no harness could be built; see ~/{log} there") from None
        if "error" in answer:
            raise InputError(f"--on=hosts: {host}: no harness could be built: {answer['error']}; see ~/{log} there, or give --binary")
        whole = kind_builds.TREE / "build/kinds" / answer["digest"] / "harness"
        print(f"sweep: {whole} ({answer['model']}, {answer['compiler']})", file=sys.stderr)
        done = subprocess.run([*engine.ssh, "--", host, f"cat {shlex.quote(answer['harness'])}"], capture_output=True, check=False)
        if done.returncode:
            raise InputError(f"--on=hosts: {host}: the harness cannot be fetched: {done.stderr.decode(errors='replace').strip()}")
        whole.parent.mkdir(parents=True, exist_ok=True)
        part = whole.with_name(f"harness.{uuid.uuid4().hex[:12]}")
        part.write_bytes(done.stdout)
        part.chmod(0o755)
        part.rename(whole)
        return whole
