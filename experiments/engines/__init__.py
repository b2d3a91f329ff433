"""What runs the tasks of a sweep: an engine. Every engine is an Engine (engines/engine.py) and has

    name               as --on takes it
    kinds              names of the kinds of machines, each with a folder of its own; [""] if all results go into one
    at_once            how many tasks it takes at a time; a task's points are chosen when it starts
    width              how many tasks run at a time, for an estimate of the time
    check()            raises InputError if something that was asked for is not there; starts nothing
    prepare()          checks, and makes a binary for each kind; raises InputError
    harness(kind)      the path of that binary; before prepare() it may be that of this machine
    start(tasks)       hands the tasks over, all or none; raises InputError if they are refused. It sets task.handle, saves the task
    lost(kind, node)   why a block that began on the node cannot go on there, but may begin anew on another; "" if it can
    foreign(task)      why it cannot be told here whether a task still runs; "" if it can
    place(kind, node, tasks)   the node of a new task beside these tasks, which have not ended: "" for any, None if it has to wait.
                       `node` is the one that ran the beginning of its block, or ""
    live(tasks)        those of the tasks that may still write
    end(task)          why a task ended (engines/end.py) that is no longer live
    wait()             waits until it is worthwhile to look again
    stop()             what to do with live tasks when the user interrupts; returns what to tell the user
    nodes()            what it would run on, in words
"""
import os
import pathlib

from engines import kind_builds
from input_error import InputError

ENGINES = ("local", "slurm", "hosts")


def engine_of(text, binary, brought=(), out=None, pairs=(), modelled=False):
    """Returns the engine that --on=TEXT names. `binary` is the harness of this machine; `brought` are the values of --binary, which
    replace it. An engine that builds needs the folder of the sweep and its index:policy pairs. Modelled runs have the same result
    wherever they run, so every kind gets this machine's harness, and here as many run at a time as there are processors."""
    brought = list(brought)
    if modelled and not brought:
        brought = [str(binary)]
    from engines.hosts import Hosts
    from engines.local import Local
    from engines.slurm import Slurm, of_options

    name, _, words = text.partition(":")
    if name not in ENGINES:
        raise InputError(f"--on={text}: there is no engine '{name}'; there are {', '.join(ENGINES)}")
    if name == "slurm":
        options, kinds = of_options(words)
        builds = kind_builds.KindBuilds(kind_builds.brought(brought, kinds), list(pairs), out)
        return Slurm(pathlib.Path(binary).resolve(), options, kinds, builds)
    if name == "hosts":
        if not words:
            raise InputError(f"--on={text}: name the file of the hosts: --on=hosts:FILE")
        return Hosts(words, binary, brought, pairs, out)
    if text != "local":
        raise InputError(f"--on={text}: local has no options")
    return Local(kind_builds.brought(brought, [""]).get("", binary), len(os.sched_getaffinity(0)) if modelled else 1)
