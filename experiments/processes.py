"""Names a process for other programs: its number may be used again, and other machines have the same numbers."""
import pathlib


def started_at(process):
    """Returns when a process started, in ticks since boot; None if it is gone."""
    try:
        text = pathlib.Path(f"/proc/{process}/stat").read_text(encoding="utf-8")
    except OSError:
        return None
    state, *fields = text.rpartition(")")[2].split()
    return None if state in "ZX" else fields[18]


def boot():
    """Names the machine since its boot."""
    return pathlib.Path("/proc/sys/kernel/random/boot_id").read_text(encoding="utf-8").strip()
