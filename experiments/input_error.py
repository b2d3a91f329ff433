"""The error of wrong input, and how a script ends, for all scripts of this folder."""
import signal
import sys


class InputError(Exception):
    """An error in the input, with a message of one line for the user."""


def run_script(name, call, *arguments):
    """Calls the function and exits with the status that it returns; with 2 and one line for wrong input, with 130 after an interruption.
    `name` begins the line."""
    for interruption in (signal.SIGINT, signal.SIGTERM):
        signal.signal(interruption, signal.default_int_handler)
    try:
        sys.exit(call(*arguments))
    except InputError as wrong:
        line = "".join(letter if letter.isprintable() else "?" for letter in str(wrong))   # a file name may contain any character
        print(f"{name}: {line}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print(f"{name}: interrupted", file=sys.stderr)
        sys.exit(130)
