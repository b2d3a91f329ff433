"""The error of wrong input, and how a script ends, for all scripts of this folder."""
import os
import select
import signal
import sys

INTERRUPTIONS = (signal.SIGINT, signal.SIGTERM)


class InputError(Exception):
    """An error in the input, with a message of one line for the user."""


def end_when_interrupted(name):
    """Has an interruption end the process at once with 130 and one line, as run_script does. For a script whose imports take long."""
    def end(*_):
        os.write(2, f"{name}: interrupted\n".encode())
        os._exit(130)   # an exception would show where in a module it was raised

    for interruption in INTERRUPTIONS:
        signal.signal(interruption, end)


def has_lost_reader(file):
    """Returns true if the file is a pipe whose reader has closed it."""
    poll = select.poll()
    poll.register(file, 0)
    return any(event & select.POLLERR for _, event in poll.poll(0))


def run_script(name, call, *arguments):
    """Calls the function and exits with the status that it returns; with 2 and one line for wrong input, with 130 after an interruption.
    `name` begins the line. It ends quietly when the reader of its output, such as `| head`, has left."""
    status = 0
    try:
        for interruption in INTERRUPTIONS:
            signal.signal(interruption, signal.default_int_handler)
        try:
            status = call(*arguments)
        except SystemExit as end:   # of --help
            status = end.code
        sys.stdout.flush()
        sys.exit(status)
    except BrokenPipeError:
        if not has_lost_reader(1):   # it was another pipe
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)   # for what is left in the buffer
        sys.exit(status)
    except InputError as wrong:
        line = "".join(letter if letter.isprintable() else "?" for letter in str(wrong))   # a file name may contain any character
        print(f"{name}: {line}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print(f"{name}: interrupted", file=sys.stderr)
        sys.exit(130)
