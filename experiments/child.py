"""Settings of the processes that an experiment starts."""
import ctypes
import os
import signal

PR_SET_PDEATHSIG = 1   # linux/prctl.h
LIBC = ctypes.CDLL(None)


def ends_with_us():
    """Returns a function for preexec_fn. The kernel then kills the child when this process ends, for whatever reason, so that no run
    goes on alone."""
    us = os.getpid()

    def ask():
        if LIBC.prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL)) != 0 or os.getppid() != us:
            os._exit(1)   # the kernel refuses, or this process ended before the call

    return ask
