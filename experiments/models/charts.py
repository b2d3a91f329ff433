"""Draws what a model computed, by the modules that draw experiments (figure.py), and parses the words of a model's command line."""
import pathlib
import sys

from definition import Panel
from input_error import InputError


def panel(title, x_title, x, y_title, *, scale="linear", y_log=False, note="", beside=(), between=()):
    """Returns a panel without curves of an experiment. beside: (name, [(x, y), ...]); between: (name, [(x, low, high), ...])."""
    return Panel(title, "", x_title, list(x), scale, "", y_title, [], y_log, note=note, beside=list(beside), between=list(between))


def point(curve, x, y, low=None, high=None):
    """Returns a point of a curve, with the ends of its interval."""
    return {"curve": curve, "x": x, "y": y, "low": y if low is None else low, "high": y if high is None else high, "runs": 1}


def draw(folder, name, title, panels, lines):
    """Writes name.svg and name.png, and says so; without the modules that draw it says that instead. panels: (panel, its points)."""
    try:
        import figure   # only the drawing needs the modules of build/python
    except ImportError:
        print(f"model: {name}.svg is not drawn, since the modules that draw are not installed", file=sys.stderr)
        return
    look = figure.Look()
    made = [figure.titled(each, points, figure.known_of(each), [each.note] if each.note else [], look) for each, points in panels]
    figure.save_charts(title, made, lines, look, folder, name)
    print(f"wrote {folder}/{name}.svg")


def parse(arguments, options, positional=False):
    """Returns the options of a command line, name -> text (`options` has those that there are), and the other words. Raises InputError."""
    found, words = {}, []
    known = ", ".join(f"--{name}={of}" for name, of in options.items())
    for word in arguments:
        name, equals, value = word.removeprefix("--").partition("=")
        if not word.startswith("-") and positional:
            words.append(word)
        elif word.startswith("--") and name in options and equals and value:
            if name in found:
                raise InputError(f"--{name} is given twice")
            found[name] = value
        else:
            raise InputError(f"'{word}' has no meaning here; there are {known} and --help")
    return found, words


def made_folder(text, otherwise):
    """Returns the folder of the results, which is made. Raises InputError."""
    folder = pathlib.Path(text) if text else otherwise
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--out: {folder}: {error.strerror}") from None
    return folder
