"""Reruns the claims of an artifact on this machine, and says of each whether it is reproduced; `./bench verify` runs it.

    ./bench verify DIR|FILE.toml [--quick] [--claim=NAME] [--replicates=10] [--out=FOLDER] [--dry-run]

DIR is a folder of `./bench artifact`, or any folder with a claims.toml; FILE.toml has claims, as experiments/claims/policies.toml, which
holds those of README. The runs of a claim are interleaved: a block has each of them once, in random order. Where the blocks do not decide,
as many follow, and then twice as many. --quick makes 6 blocks of the claims that are quick, and says which it leaves undecided. --claim
takes a name or a pattern, such as 'insert-*'. It first says how long the claims will take, by --time, --warmup and --records of their
runs; so does --dry-run, which also prints the runs.

Each claim is reproduced, not reproduced (with the interval and the likely cause), not decided, or not testable here (with the reason).
FOLDER gets summary.md and summary.json, in the words of ACM's artifact review, and results.jsonl with all documents. It is DIR/verified, or
experiments/results/verify-NAME for a FILE. After an interruption the same command goes on.

Exit status: 0 if all claims that this machine can test are reproduced; 1 otherwise; 2 for wrong input; 130 after an interruption.
"""
import fnmatch
import pathlib
import re
import subprocess
import sys
from dataclasses import dataclass

import begin
import claims as claim_files
import definition
import judge
import summary
from artifact import Artifact
from driver import Driver
from engines import engine_of
from hold import Hold
from input_error import InputError, run_script
from judge import FEWEST, REPRODUCED, UNDECIDED, UNTESTABLE, Judgement
from plan import Plan, in_words
from results import Results, digest
from sweep import number, points_of

USAGE = "./bench verify DIR|FILE.toml [--quick] [--claim=NAME] [--replicates=10] [--out=FOLDER] [--dry-run]"
OURS = {"results.jsonl", "results.jsonl.part", "aside.jsonl", "failures.jsonl", "tasks", *summary.FILES}
MOST = 1000


@dataclass
class Request:
    source: pathlib.Path
    quick: bool = False
    dry: bool = False
    claim: str = "*"
    replicates: int = 10
    out: pathlib.Path | None = None

    @property
    def file(self):
        """The file of claims."""
        return self.source / "claims.toml" if self.source.is_dir() else self.source

    @property
    def folder(self):
        if self.out:
            return self.out
        return self.source / "verified" if self.source.is_dir() else definition.FOLDER / "results" / f"verify-{self.source.stem}"


def parse(arguments):
    if not arguments or arguments[0].startswith("-"):
        raise InputError(f"the artifact is missing; {USAGE}")
    request = Request(pathlib.Path(arguments[0]))
    for argument in arguments[1:]:
        name, _, text = argument.partition("=")
        if argument == "--quick":
            request.quick = True
        elif argument == "--dry-run":
            request.dry = True
        elif name == "--claim" and text:
            request.claim = text
        elif name == "--out" and text:
            request.out = pathlib.Path(text)
        elif name == "--replicates" and text:
            request.replicates = number("replicates", text, FEWEST, MOST)
        else:
            raise InputError(f"there is no '{argument}' here; {USAGE}")
    if request.quick and any(argument.startswith("--replicates=") for argument in arguments):
        raise InputError(f"--quick makes {FEWEST} blocks; give it without --replicates")
    return request


def chosen(request, claims):
    """Returns the claims to measure. Raises InputError if there are none."""
    named = [claim for claim in claims if fnmatch.fnmatch(claim.name, request.claim)]
    if not named:
        raise InputError(f"--claim: there is no claim '{request.claim}'; there are {', '.join(claim.name for claim in claims)}")
    return named


def check_runs(harness, claims):
    """Refuses commands that are not one run of the harness. Its own words say what is wrong."""
    for claim in claims:
        for letter, arguments in claim.runs.items():
            try:
                several = len(points_of(harness, arguments)[0]) > 1
            except InputError as wrong:
                raise InputError(f"{claim.name}: {letter}: {wrong}") from None
            if several:
                raise InputError(f"{claim.name}: {letter}: {' '.join(arguments)} is several runs; a claim names one")


def check_folder(folder):
    """Refuses a folder with files of others."""
    begin.check_place(folder)
    # A link in a stranger's artifact would lead what is written here to another place.
    strange = [path.name for path in folder.iterdir() if path.name not in OURS or path.is_symlink()] if folder.is_dir() else []
    if strange:
        raise InputError(f"--out: {folder}/{min(strange)} is no file of a verification; move it away, or give another folder")


def looks_of(request):
    """Returns after how many blocks the claims are judged. The first block shows what this machine cannot run, so that no other run is
    made for that."""
    return (1, FEWEST) if request.quick else (1, request.replicates, 2 * request.replicates, 4 * request.replicates)


def seconds_of(harness, arguments):
    """Returns the time that the harness expects of a run; 0 for one that does not fit this machine."""
    done = subprocess.run([harness, *arguments, "--dry-run"], capture_output=True, text=True, check=False)
    found = re.search(r"^1 run, about ((?:[\d.]+ (?:h|min|s|ms|us|ns) ?)+)", done.stderr, re.MULTILINE)
    units = {"h": 3600, "min": 60, "s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
    return sum(float(number) * units[unit] for number, unit in re.findall(r"([\d.]+) (\w+)", found[1])) if found else 0


def estimate(harness, claims, looks):
    """Says how long the claims will take: at least the blocks of the first look, at most those of the last."""
    runs = dict.fromkeys(arguments for claim in claims for arguments in claim.runs.values())
    block = sum(seconds_of(harness, arguments) for arguments in runs)
    least, most = (in_words(look * block) for look in (looks[1], looks[-1]))
    said = f"claims: {len(claims)}, different runs: {len(runs)}, {looks[1]} blocks: about {least}"
    return said if most == least else f"{said}; where those do not decide, up to {looks[-1]} blocks: about {most}"


class Verification:
    """Runs blocks of claims on this machine until they are decided."""

    def __init__(self, request, harness):
        self.harness, self.folder = harness, request.folder
        self.results = Results(request.folder, digest(harness))
        self.looks = looks_of(request)
        self.judged = {}   # name -> Judgement

    def plan(self, claims, replicates):
        points = [point for claim in claims for point in claim.points()]
        return Plan(definition.Experiment("verify", "", "", "", replicates, [], points), {"": self.results})

    def run(self, claims, replicates):
        plan = self.plan(claims, replicates)
        Driver(plan, engine_of("local", self.harness), self.folder, self.hold).run()
        return plan

    def decide(self, group):
        """Measures a group of claims that share runs."""
        for claim in group:
            if pair := judge.missing_pair(self.harness, claim):
                self.judged[claim.name] = Judgement(UNTESTABLE, f"this build has no {pair}")
        for look in self.looks:
            if open_ := [claim for claim in group if self.is_open(claim)]:
                plan = self.run(open_, look)
                for claim in open_:
                    self.judged[claim.name] = judge.judge(self.harness, claim, plan)
        for claim in group:
            print(f"verify: {claim.name}: {self.judged[claim.name].outcome}", file=sys.stderr, flush=True)

    def is_open(self, claim):
        return claim.name not in self.judged or self.judged[claim.name].outcome == UNDECIDED

    def run_all(self, claims):
        with Hold(self.folder) as self.hold:
            print(f"verify: {estimate(self.harness, claims, self.looks)}", file=sys.stderr, flush=True)
            # A killed call may have left a task; its results are kept before any other task begins.
            self.run(claims, 0)
            for group in claim_files.groups(claims):
                self.decide(group)


def explain(verification, claim, artifact, disturbing):
    """Adds the likely causes why a claim is not reproduced, the likeliest first. `disturbing` is what `harness doctor` found."""
    found = verification.judged[claim.name]
    if found.disturbed:
        found.causes.append(f"other programs disturbed {found.disturbed} of {found.runs} runs")
    if there := artifact.other_machine(verification.results):
        found.causes.append(there)
    found.explained, causes = judge.explained(verification.harness, claim, verification.results)
    found.causes += causes + disturbing


def verify_main(harness, arguments):
    request = parse(arguments)
    artifact = Artifact(request.source)
    claims = claim_files.load(request.file)
    named = chosen(request, claims)
    measured = [claim for claim in named if claim.quick or not request.quick]
    if not measured:
        raise InputError(f"--quick: no claim of {request.file} is quick; run all of them without it")
    check_runs(harness, measured)
    if request.dry:
        runs = dict.fromkeys(arguments for claim in measured for arguments in claim.runs.values())
        for arguments in runs:
            print(" ".join([str(harness), *arguments]))
        print(estimate(harness, measured, looks_of(request)), file=sys.stderr)
        return 0
    if request.folder.is_symlink() and not request.out:
        raise InputError(f"{request.folder} is a symbolic link; name a folder by --out")
    check_folder(request.folder)
    verification = Verification(request, harness)
    try:
        verification.run_all(measured)
    except KeyboardInterrupt as interrupted:
        print(f"verify: interrupted; {interrupted}", file=sys.stderr)
        return 130
    judged = verification.judged
    wrong = [claim for claim in measured if judged[claim.name].outcome not in (REPRODUCED, UNTESTABLE)]
    disturbing, missing = judge.doctored(harness)
    for claim in wrong:
        explain(verification, claim, artifact, disturbing)
    for claim in named:
        if claim not in measured:   # which is no failure
            judged[claim.name] = Judgement(UNDECIDED, "--quick leaves it out: its runs take longer")
    report = summary.Report(request, artifact, named, judged, verification.results, missing)
    print(summary.save(report, request.folder), end="")
    return 1 if wrong else 0


if __name__ == "__main__":
    run_script("verify", verify_main, sys.argv[1], sys.argv[2:])
