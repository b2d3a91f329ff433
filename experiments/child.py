"""What every process that measures for us has in common."""
import ctypes
import os
import signal

PR_SET_PDEATHSIG = 1   # linux/prctl.h
LIBC = ctypes.CDLL(None)


def ends_with_us():
    """For preexec_fn: the child is killed when this process ends, however it ends, so that it does not measure on."""
    us = os.getpid()

    def ask():
        if LIBC.prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL)) != 0 or os.getppid() != us:
            os._exit(1)   # the kernel does not do that, or this process ended before it was asked

    return ask
