"""What runs the tasks of a sweep: an engine. Every engine has

    kinds              names of the kinds of machines, each with a folder of its own; [""] if all results go into one
    at_once            how many tasks it takes at a time; a task's points are chosen when it starts
    prepare()          makes a binary for each kind; raises InputError
    harness(kind)      the path of that binary
    start(tasks)       hands the tasks over, all or none; raises InputError if they are refused. It sets task.handle, saves the task
    live(tasks)        those of the tasks that may still write
    end(task)          why a task ended (engines/end.py) that is no longer live
    wait()             waits until it is worthwhile to look again
    stop()             what to do with live tasks when the user interrupts; returns what to tell the user
    nodes()            what it would run on, in words
"""
from input_error import InputError

ENGINES = ("local",)


def engine_of(text, binary):
    """Returns the engine that --on=TEXT names. `binary` is the harness of this machine."""
    from engines.local import Local

    name, _, _options = text.partition(":")
    if name not in ENGINES:
        raise InputError(f"--on={text}: there is no engine '{name}'; there {'is' if len(ENGINES) == 1 else 'are'} {', '.join(ENGINES)}")
    if text != "local":
        raise InputError(f"--on={text}: local has no options")
    return Local(binary)
