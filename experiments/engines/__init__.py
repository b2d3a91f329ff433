"""What runs the tasks of a sweep. Every engine has

    kinds              names of the kinds of machines, each with a folder of its own; [""] if all results go into one
    at_once            how many tasks it takes at a time; a task's points are chosen when it starts
    harness(kind)      the path of the binary that runs there
    start(tasks)       hands the tasks over, all or none; raises InputError if they are refused, and sets task.handle
    live(tasks)        those of the tasks that may still write
    end(task)          why a task ended that is no longer live
    wait()             waits until it is worthwhile to look again
    stop()             what to do with live tasks when the user interrupts; returns what to tell the user
"""
from dataclasses import dataclass


@dataclass(frozen=True)
class End:
    """Why a task ended before all of its points ran."""

    reason: str
    blame: bool   # the point that ran then is to blame, so it counts as failed
    again: bool   # the other points may be tried by another task
