"""What a sweep and an experiment check before they begin: the folder, the binaries that --binary brings, and the results that are there.

Everything that is wrong raises InputError, and nothing has changed by then.
"""
import errno
import json
import re
import subprocess

import columns
import plan as plans
from hold import is_of_start
from input_error import InputError
from results import Results, digest

FOLDERS = {"tasks", "sbatch"}
RESULTS = {"results.jsonl", "results.jsonl.part", "aside.jsonl", "machines.svg"}   # in the folder of a kind
TASK = re.compile(r"(.+-)?block\d+-try\d+\..+|\w+\.driver|slurm")   # names in `tasks`
SECONDS = 60   # that a binary has to answer


def figures_of(name):
    """Returns the pattern of the files that an experiment draws."""
    return re.compile(rf"figure\.(svg|png|pdf|html)|{re.escape(name)}(-\d+)?\.(svg|png|pdf|caption\.txt)")


def check_place(folder):
    """Refuses a path that is no folder, or cannot become one."""
    there = next((path for path in (folder, *folder.parents) if path.exists()), folder)
    if not there.is_dir() and there.exists():
        raise InputError(f"--out: {there} is no folder")


def check_folder(folder, name, kinds):
    """Refuses a folder with files that are not of this sweep or experiment, or that is none. `name` is that of the experiment."""
    try:
        check_place(folder)
        if folder.is_dir():
            check_names(folder, name, kinds)
    except OSError as error:
        raise InputError(f"--out: {error.filename}: {error.strerror}") from None


def check_names(folder, name, kinds):
    drawn = figures_of(name)
    there = sorted(folder.iterdir())
    if not (folder / "sweep.json").exists():
        if is_of_start(folder, kinds):
            return
        raise InputError(f"--out: {folder} has no sweep.json, but '{there[0].name}': it is no folder of a sweep; give another")
    kinds = {*kinds, *plans.kinds_in(folder)} - {""}   # an earlier call may have had others
    folders = FOLDERS | kinds
    inside = [path for kind in kinds if (folder / kind).is_dir() for path in sorted((folder / kind).iterdir())]
    for path in [*there, *inside]:
        known = plans.OURS - FOLDERS if path.parent == folder else RESULTS
        is_ours = path.name in folders and path in there if path.is_dir() else path.name in known or drawn.fullmatch(path.name)
        if not is_ours:
            raise InputError(f"--out: {path} is no file of a sweep; move it away, or give another folder")
    for path in sorted((folder / "tasks").iterdir()) if (folder / "tasks").is_dir() else ():
        if not TASK.fullmatch(path.name):
            raise InputError(f"{path}: is no task of a sweep; remove it, or give another --out")
    if (other := plans.kept_in(folder).get("name")) != name:
        what = "a sweep" if other == plans.SWEEP else f"the experiment '{other}'"
        raise InputError(f"--out: {folder} is the folder of {what}; give another")


def check_emit(engine, on):
    """Refuses --emit=sbatch for an engine that has no scripts."""
    if not hasattr(engine, "emit"):
        raise InputError(f"--emit=sbatch needs --on=slurm; this is --on={on}")


def check_binaries(engine, on, words, options=()):
    """Refuses a value of --binary, one of `words`, that is no harness or does not know the options. One that cannot run on this machine
    may run on its kind."""
    for kind in engine.kinds if words else ():
        binary = engine.harness(kind)
        try:
            done = subprocess.run([binary, "points", *options], capture_output=True, text=True, errors="replace",
                                  stdin=subprocess.DEVNULL, check=False, timeout=SECONDS)
            runs, said = 0 <= done.returncode < 126, (done.stderr.strip().splitlines() or ["it printed something else"])[-1]
        except subprocess.TimeoutExpired:
            runs, done, said = True, None, f"no answer within {SECONDS} s"
        except OSError as error:
            runs, done, said = error.errno != errno.ENOEXEC, None, error.strerror
        if not (runs or on == "local") or (done and done.returncode == 0 and has_points(done.stdout)):
            continue
        raise InputError(f"--binary: {binary} is no harness for these runs: {said}")


def has_points(text):
    """True if the text is what `harness points` prints."""
    try:
        return bool(text) and all("words" in json.loads(line) for line in text.splitlines())
    except (ValueError, TypeError):
        return False


def results_of(folder, engine, apart=False):
    """Returns the Results of each kind. Refuses those of another schema; and those of another binary, with which ours must not be mixed,
    unless they are kept `apart`: then they do not count, and a line says so."""
    results = {kind: Results(plans.folder_of(folder, kind), digest(engine.harness(kind))) for kind in engine.kinds}
    for of in results.values():
        if of.others and not apart:
            raise InputError(f"{of.path}: has results of another binary; give another --out, or build that commit again")
        for document in of.known.values():
            if (other := columns.other_schema(document)) is not None:
                raise InputError(f"{of.path}: has documents of schema {other}; this tree has {columns.VERSION}; give another --out")
    return results
