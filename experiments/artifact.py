"""Packs experiments with their claims, so that anyone can rerun them; `./bench artifact` runs it. It measures nothing.

    ./bench artifact NAME... --out=DIR [--quick|--full] [-- OPTIONS OF EVERY RUN]

The results are those of `./bench experiment NAME` with the same mode and options. DIR gets

    README.md             what this is, and how its claims are verified
    claims.toml           the claims, from experiments/claims/NAME.toml
    experiments/          the definition of each experiment
    results/NAME/         results.jsonl, and the figures if they were drawn
    commands.txt          the command of each run
    environment.json      machine, kernel, compiler and commit, as the results hold them
    LICENSE, CITATION.cff
    artifact.json         what the artifact has, with the digest of each file

A DIR that has an artifact gets the new one in its place. A DIR with other files is refused, and so are an experiment without claims, and
one whose results are incomplete, or of several binaries, or of another schema than that of this tree.

Exit status: 0, or 2 for wrong input.
"""
import hashlib
import json
import pathlib
import shlex
import shutil
import sys
import tempfile

import claims as claim_files
import columns
import definition
from input_error import InputError, run_script
from results import Results, last_run, records_in

SCHEMA = 1
TREE = definition.FOLDER.parent
CLAIMS = definition.FOLDER / "claims"
FIGURES = ("svg", "png", "pdf", "html")
USAGE = "./bench artifact NAME... --out=DIR [--quick|--full] [-- OPTIONS OF EVERY RUN]"


def parse(arguments):
    """Returns the names, the mode, the folder of the artifact, and the options of every run."""
    own = []
    if "--" in arguments:
        at = arguments.index("--")
        arguments, own = arguments[:at], arguments[at + 1 :]
    names, modes, out = [], [], None
    for argument in arguments:
        if argument in ("--quick", "--full"):
            modes.append(argument[2:])
        elif argument.startswith("--out=") and argument != "--out=":
            out = pathlib.Path(argument.removeprefix("--out="))
        elif argument.startswith("-"):
            raise InputError(f"there is no '{argument}' here; {USAGE}")
        else:
            names.append(argument)
    if not names:
        raise InputError(f"the name of an experiment is missing; {USAGE}")
    if out is None:
        raise InputError(f"--out=DIR is missing, the folder that gets the artifact; {USAGE}")
    if len(set(names)) < len(names) or len(modes) > 1:
        raise InputError(f"name each experiment once, and one of --quick and --full; {USAGE}")
    return names, modes[0] if modes else "full", out, tuple(own)


def records_of(name, mode, own):
    """Returns the definition of an experiment, and the records of its runs in the order of their file. Raises InputError."""
    folder = definition.FOLDER / "results" / f"{name}-{mode}"
    if name not in definition.names():
        definition.load(name, mode)   # it says what there is
    if not (CLAIMS / f"{name}.toml").exists():
        raise InputError(f"{name}: has no claims; write experiments/claims/{name}.toml, as experiments/claims.py says")
    command = f"./bench experiment {' '.join([name, f'--{mode}', *(['--', *own] if own else [])])}"
    try:
        binary, processors, _ = last_run(folder)
    except InputError:
        raise InputError(f"{name}: there is no result in {folder}; first run {command}") from None
    experiment = definition.load(name, mode, own, processors)
    results = Results(folder, binary)
    wanted = {
        (point.arguments, replicate)
        for point in experiment.distinct() if results.why_left_out(point) is None for replicate in range(experiment.replicates)
    }
    if absent := wanted - set(results.known):
        others = f", but results of {len(results.others)} other builds" if results.others else ""
        raise InputError(f"{name}: {len(absent)} of {len(wanted)} runs are not in {results.path}{others}; first run {command}")
    runs = {point.arguments for point in experiment.distinct()}
    records = [r for r in records_in(results.path) if r.get("binary") == binary and tuple(r["arguments"]) in runs]
    for record in records:
        if (schema := columns.other_schema(record["document"])) is not None:
            raise InputError(f"{name}: {results.path} has documents of schema {schema}; this tree writes {columns.VERSION}: first run "
                             f"{command}")
    return experiment, records, folder


def environments_of(records):
    """Returns each machine and build once, as the documents hold them."""
    seen = {}
    for record in records:
        found = {key: record["document"].get(key) for key in ("machine", "build")}
        seen[json.dumps(found, sort_keys=True)] = found
    return list(seen.values())


def machine_text(machine):
    return ", ".join(str(machine[key]) for key in ("model", "topology", "kernel") if machine.get(key)) or "an unknown machine"


def build_text(build):
    dirty = ", with changes that were not committed" if build.get("dirty") else ""
    return f"commit {build.get('commit')}{dirty}, {build.get('compiler')}, {build.get('flags')}"


def readme(packed, own, claims, environments):
    """Returns the text of README.md. `packed` has an experiment and its records for each name; `own` are the user's options."""
    lines = ["# An artifact of Latchlab", ""]
    for experiment, records in packed:
        ran = f"`{' '.join([f'--{experiment.mode}', *(['--', *own] if own else [])])}`"
        lines.append(f"- **{experiment.name}**: {experiment.title}. {len(records)} runs, {ran}; source: {experiment.source}.")
    lines += ["", "## Claims", ""]
    for claim in claims:
        lines.append(f"- **{claim.name}**: {claim.says} `{claim.holds}`, tolerance {claim.tolerance:.0%}.")
    lines += [
        "",
        "## Verify",
        "",
        "Get the source at the commit below. There this reruns the claims and says of each whether it is reproduced:",
        "",
        "    ./bench verify DIR",
        "",
        "DIR is this folder. `--quick` runs a subset. `artifact.json` lists every file with its SHA-256.",
        "",
        "## Measured on",
        "",
    ]
    for environment in environments:
        lines.append(f"- {machine_text(environment['machine'] or {})}; {build_text(environment['build'] or {})}")
    return "\n".join([*lines, "", "Licence: Apache-2.0, in the file LICENSE."]) + "\n"


def hash_of(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def is_inside(folder, name):
    """True if the name, whatever symbolic links are on its way, can only be that of a file in the folder."""
    place = (folder / name).resolve()
    return folder.resolve() in place.parents and not place.is_dir()


def files_in(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file())


def pack(names, mode, own, stage):
    """Writes the artifact into an empty folder."""
    packed, everything, texts, notes = [], [], [], []
    for name in names:
        experiment, records, source = records_of(name, mode, own)
        packed.append((experiment, records))
        everything += records
        texts.append((CLAIMS / f"{name}.toml").read_text(encoding="utf-8"))
        results = stage / "results" / name
        results.mkdir(parents=True)
        (results / "results.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
        drawn = [source / f"figure.{ending}" for ending in FIGURES if (source / f"figure.{ending}").exists()]
        for figure in drawn:
            shutil.copy(figure, results)
        if not drawn:
            notes.append(f"{name} has no figure: ./bench experiment {name} --{mode} --redraw draws it")
        (stage / "experiments").mkdir(exist_ok=True)
        shutil.copy(definition.FOLDER / f"{name}.toml", stage / "experiments")
    (stage / "claims.toml").write_text("\n".join(texts), encoding="utf-8")
    claims = claim_files.load(stage / "claims.toml")
    environments = environments_of(everything)
    (stage / "environment.json").write_text(json.dumps(environments, indent=1) + "\n", encoding="utf-8")
    commands = [shlex.join(["harness", *record["document"]["command"][1:]]) for record in everything if record["document"].get("command")]
    (stage / "commands.txt").write_text("".join(f"{command}\n" for command in commands), encoding="utf-8")
    for file in ("LICENSE", "CITATION.cff"):
        shutil.copy(TREE / file, stage)
    (stage / "README.md").write_text(readme(packed, own, claims, environments), encoding="utf-8")
    kept = {
        "schema": SCHEMA,
        "licence": "Apache-2.0",
        "experiments": [
            {"name": e.name, "mode": e.mode, "options": own, "title": e.title, "runs": len(records), "binary": records[-1]["binary"]}
            for e, records in packed
        ],
        "files": {str(path.relative_to(stage)): hash_of(path) for path in files_in(stage)},
    }
    (stage / "artifact.json").write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    return claims, notes


class Artifact:
    """An artifact, as `verify` reads it; or claims alone. Raises InputError if artifact.json is something else."""

    def __init__(self, source):
        self.source, self.files, self.machines = source, {}, []
        self.is_packed = (source / "artifact.json").is_file()
        if source.is_dir() and not (source / "claims.toml").exists():
            raise InputError(f"{source}: is no artifact: it has no claims.toml")
        if not self.is_packed:
            return
        try:
            kept = json.loads((source / "artifact.json").read_text(encoding="utf-8"))
            schema, self.files = kept["schema"], dict(kept["files"])
            outside = [name for name in self.files if not is_inside(source, name)]
        except (OSError, ValueError, KeyError, TypeError, RuntimeError):   # the last for symbolic links in a circle
            raise InputError(f"{source}/artifact.json: is not what ./bench artifact writes") from None
        if outside:   # a stranger wrote it, and a new artifact removes what the old one lists
            raise InputError(f"{source}/artifact.json: lists '{outside[0]}', which is no file in its folder")
        if schema != SCHEMA:
            raise InputError(f"{source}/artifact.json: schema {schema}; this program knows {SCHEMA}")
        try:
            environments = json.loads((source / "environment.json").read_text(encoding="utf-8"))
            self.machines = [dict(each["machine"] or {}) for each in environments]
        except (OSError, ValueError, KeyError, TypeError):
            pass   # `wrong` names the file

    def wrong(self):
        """Returns the listed files that are missing, or differ from what was packed."""
        return [
            name for name, digest in self.files.items()
            if not (self.source / name).is_file() or hash_of(self.source / name) != digest
        ]

    def other_machine(self, results):
        """Returns how this machine differs from those of the artifact; "" if it is like one of them, or nothing is known."""
        here = next((document["machine"] for document in results.known.values() if document.get("machine")), {})
        kinds = [(machine.get("model"), machine.get("topology")) for machine in self.machines]
        if not here or not kinds or (here.get("model"), here.get("topology")) in kinds:
            return ""
        return f"measured there on {machine_text(self.machines[0])}; here on {machine_text(here)}"


def check_folder(folder):
    """Refuses a folder with files that are not of an artifact."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise InputError(f"--out: {folder} is no folder")
    own = {"artifact.json"}
    if (folder / "artifact.json").exists():
        own |= set(Artifact(folder).files)
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        foreign = path.is_symlink() or (str(name) not in own and not path.is_dir())   # a link leads what is written out of the folder
        if foreign and name.parts[0] != "verified":
            raise InputError(f"--out: {folder}/{name} is no file of an artifact; move it away, or give another folder")


def move_in(stage, folder):
    """Puts the new artifact where the old one is, if there is one. artifact.json goes last and comes last."""
    folder.mkdir(parents=True, exist_ok=True)
    if (folder / "artifact.json").exists():
        for name in [*Artifact(folder).files, "artifact.json"]:
            (folder / name).unlink(missing_ok=True)
    for path in [*(path for path in files_in(stage) if path.name != "artifact.json"), stage / "artifact.json"]:
        place = folder / path.relative_to(stage)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(path, place)


def artifact_main(arguments):
    names, mode, folder, own = parse(arguments)
    check_folder(folder)
    try:
        with tempfile.TemporaryDirectory() as stage:
            claims, notes = pack(names, mode, own, pathlib.Path(stage))
            move_in(pathlib.Path(stage), folder)
    except OSError as error:
        raise InputError(f"--out: {error.filename or folder}: {error.strerror}") from None
    for note in notes:
        print(f"artifact: {note}", file=sys.stderr)
    print(f"{folder}: {len(names)} experiment{'s' * (len(names) > 1)}, {len(claims)} claims; ./bench verify {folder} reruns them")
    return 0


if __name__ == "__main__":
    run_script("artifact", artifact_main, sys.argv[1:])
