"""Why a task of a sweep ended."""
from dataclasses import dataclass


@dataclass(frozen=True)
class End:
    """Why a task ended before all of its points ran."""

    reason: str
    blame: bool   # the point that ran then is to blame, so it counts as failed
    again: bool   # the other points may be tried by another task
    counts: bool = True   # the task is one of those in a row after which a block fails
