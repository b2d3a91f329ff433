"""The summary of a verification, as Markdown and as JSON, in the words of ACM's artifact review (version 1.1):

    available     everything that the artifact lists is there; ACM's badge also needs a public archive, which this program cannot see
    functional    it is documented and complete, and its commands ran here
    reproduced    others, with the authors' artifact, find what it claims
"""
import json
from dataclasses import dataclass

from artifact import Artifact, build_text, machine_text
from input_error import InputError
from judge import NOT, REPRODUCED, UNDECIDED, UNTESTABLE
from results import Results

SCHEMA = 1
FILES = ("summary.md", "summary.json")


@dataclass
class Report:
    request: object
    artifact: Artifact
    claims: list
    judged: dict       # name -> Judgement
    results: Results
    missing: list      # what `harness doctor` says that this machine lacks

    def named(self, *outcomes):
        return [claim.name for claim in self.claims if self.judged[claim.name].outcome in outcomes]

    def build(self):
        documents = [document for document in self.results.known.values() if document.get("machine") and document.get("build")]
        return (documents[-1]["machine"], documents[-1]["build"]) if documents else (None, None)


def badges(report):
    """Returns the words of ACM, each with whether it is met, and why."""
    if not report.artifact.is_packed:
        available = False, f"{report.artifact.source} has claims alone; ./bench artifact packs them with their results"
    elif wrong := report.artifact.wrong():
        available = False, f"missing or changed since it was packed: {', '.join(wrong)}"
    else:
        available = True, f"all {len(report.artifact.files)} files are as they were packed; ACM's badge also needs a public archive of them"
    broken = [claim.name for claim in report.claims if report.judged[claim.name].reason.startswith("a run failed")]
    ran = [claim.name for claim in report.claims if report.judged[claim.name].blocks]
    if broken:
        functional = False, f"runs of {', '.join(broken)} failed"
    else:
        functional = bool(ran), f"the commands of {len(ran)} of {len(report.claims)} claims ran here"
    yes, no, untested = report.named(REPRODUCED), report.named(NOT, UNDECIDED), report.named(UNTESTABLE)
    said = f"{len(yes)} of {len(report.claims)} claims are reproduced"
    said += f"; not: {', '.join(no)}" if no else ""
    said += f"; not testable here: {', '.join(untested)}" if untested else ""
    return {"available": available, "functional": functional, "reproduced": (bool(yes) and not no, said)}


def figure(value):
    return "-" if value is None else f"{value:.4g}"


def interval(found):
    return "-" if found.interval is None else f"{figure(found.interval[0])} .. {figure(found.interval[1])}"


def command(claim, letter):
    return " ".join(["harness", *claim.runs[letter]])


def markdown(report):
    machine, build = report.build()
    lines = [f"# Verification of {report.request.source}", ""]
    lines.append(f"On {machine_text(machine)}; {build_text(build)}." if machine else "Nothing ran here.")
    lines += ["", "| claim | it needs | here | 95 % interval | blocks | outcome |", "|:--|:--|--:|:-:|--:|:--|"]
    for claim in report.claims:
        found = report.judged[claim.name]
        needs = f"{claim.holds}, tolerance {claim.tolerance:.0%}"
        lines.append(f"| {claim.name} | {needs} | {figure(found.value)} | {interval(found)} | {found.blocks} | **{found.outcome}** |")
    for claim in report.claims:
        found = report.judged[claim.name]
        lines += ["", f"## {claim.name}: {found.outcome}", "", claim.says, ""]
        lines += [f"- {letter}: `{command(claim, letter)}`" for letter in claim.runs]
        lines += [f"- {found.reason}"] if found.reason else []
        lines += ["", *found.explained] if found.explained else []
        lines += ["", "Likely causes, the likeliest first:", "", *(f"- {cause}" for cause in found.causes)] if found.causes else []
    if report.missing:
        lines += ["", "## What this machine lacks", "", *(f"- {line}" for line in report.missing)]
    lines += ["", "## In the words of ACM's artifact review", ""]
    for word, (met, because) in badges(report).items():
        lines.append(f"- **{word}**: {'yes' if met else 'no'}: {because}")
    if report.request.quick:
        open_ = report.named(UNDECIDED)
        lines += ["", f"This was --quick, which leaves undecided: {', '.join(open_) or 'nothing'}."]
    return "\n".join(lines) + "\n"


def document(report):
    machine, build = report.build()
    return {
        "schema": SCHEMA,
        "artifact": str(report.request.source),
        "quick": report.request.quick,
        "machine": machine,
        "build": build,
        "missing": report.missing,
        "acm": {word: {"met": met, "because": because} for word, (met, because) in badges(report).items()},
        "claims": [
            {
                "name": claim.name,
                "says": claim.says,
                "holds": claim.holds,
                "tolerance": claim.tolerance,
                "commands": {letter: command(claim, letter) for letter in claim.runs},
                "outcome": (found := report.judged[claim.name]).outcome,
                "reason": found.reason,
                "value": found.value,
                "interval": found.interval,
                "blocks": found.blocks,
                "disturbed": found.disturbed,
                "causes": found.causes,
                "explained": found.explained,
            }
            for claim in report.claims
        ],
    }


def save(report, folder):
    """Writes both files, and returns the text of the first."""
    text = markdown(report)
    for name, content in zip(FILES, (text, json.dumps(document(report), indent=1) + "\n"), strict=True):
        try:
            (folder / name).write_text(content, encoding="utf-8")
        except OSError as error:
            raise InputError(f"--out: {folder / name}: {error.strerror}") from None
    return text
