"""Experiments whose points no grid describes (model-check, multiget, co-runner, imbalance, slabs, dispatch): their command line, and the runs that they keep."""
import json
import pathlib
import random
import re
import statistics
import sys
from dataclasses import asdict

from input_error import InputError


def parse(arguments, folder):
    """Returns the mode, full or quick, and the folder of the results, which it makes. `folder` is the default. With --help it prints what the
    script says of itself, and exits."""
    if "--help" in arguments:
        print(sys.modules["__main__"].__doc__.strip())
        sys.exit()
    mode = "full"
    for number, word in enumerate(arguments):
        if word.partition("=")[0] in [earlier.partition("=")[0] for earlier in arguments[:number]]:
            raise InputError(f"{word.partition('=')[0]} is given twice")
        if word == "--quick":
            mode = "quick"
        elif re.fullmatch("--out=.+", word):
            folder = pathlib.Path(word.removeprefix("--out="))
        else:
            raise InputError(f"'{word}' has no meaning here; there are --quick, --out=FOLDER and --help")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--out: {folder}: {error.strerror}") from None
    return mode, folder


class Runs:
    """The runs that FOLDER/results.jsonl keeps, and those that are added to it: for each point (a dataclass) and round, an outcome, which is
    a dictionary. All are of one build and one mode."""

    def __init__(self, folder, point_type, mode):
        self.path, self.mode, self.kept, self.build = folder / "results.jsonl", mode, {}, None
        if not self.path.exists():
            return
        for number, line in enumerate(self.path.read_text().splitlines(), 1):
            try:
                run = json.loads(line)
                self.kept[point_type(**run["point"]), run["round"]] = run["outcome"]
                self.build, kept_mode = run["build"], run["mode"]
            except (ValueError, KeyError, TypeError):
                raise InputError(f"{self.path}: line {number} is not one of a run; remove it") from None
            if kept_mode != mode:
                raise InputError(f"{self.path} has runs in the mode {kept_mode}, and this is {mode}: give another --out, or move the file away")

    def add(self, point, number, outcome, build):
        """Keeps a run. `build` is that of the harness's document."""
        build = build["commit"] + ("+" if build["dirty"] else "")
        if self.build not in (None, build):
            raise InputError(f"{self.path} has runs of commit {self.build}, and this is {build}: give another --out, or move the file away")
        with self.path.open("a") as file:
            file.write(json.dumps({"build": build, "mode": self.mode, "point": asdict(point), "round": number, "outcome": outcome}) + "\n")
        self.build, self.kept[point, number] = build, outcome

    def run_rounds(self, points, rounds, measure):
        """Runs each point once a round, in random order, but for the runs that are kept. measure(point) returns an outcome and the build, or
        None and None after a line about why. Returns true if no run has failed."""
        failed = False
        for number in range(1, rounds + 1):
            for point in random.Random(number).sample(points, len(points)):
                if (point, number) in self.kept:
                    continue
                outcome, build = measure(point)
                failed |= outcome is None
                if outcome is not None:
                    self.add(point, number, outcome, build)
        return not failed

    def points(self):
        return list(dict.fromkeys(point for point, _ in self.kept))

    def outcomes(self, point):
        """Returns the outcomes of a point, by round."""
        return [outcome for (other, _), outcome in sorted(self.kept.items(), key=lambda item: item[0][1]) if other == point]

    def values(self, point, what):
        """Returns the outcomes of a point, by round, but for those that have none."""
        of = sorted((number, outcome[what]) for (other, number), outcome in self.kept.items() if other == point)
        return [value for _, value in of if value is not None]

    def ratios(self, above, below, what):
        """Returns the ratios of two points, each of one round, but for rounds that lack one or would divide by zero."""
        rounds = sorted({number for _, number in self.kept})
        return [self.kept[above, number][what] / self.kept[below, number][what]
                for number in rounds if (above, number) in self.kept and (below, number) in self.kept and self.kept[below, number][what]]


def shown(values, digits=0):
    """Returns the median of the values, with the least and the most."""
    return f"{statistics.median(values):,.{digits}f} ({min(values):,.{digits}f} to {max(values):,.{digits}f})" if values else "-"


def draw_if_possible(script, draw, runs, folder):
    """Calls draw(runs, folder), which imports the modules that draw. Says where the figure is, or that there is none."""
    try:
        draw(runs, folder)
        print(f"wrote {folder}/figure.svg")
    except ImportError:
        print(f"{script}: no figure is drawn, since the modules that draw are not installed", file=sys.stderr)
