"""The own tests of memcached 1.6.18 and of redis 7.0.15: how conformance_test.py runs them against a server, and what they ask for that
this server does not have. Each entry has its reason.
"""

import os
import pathlib
import re
import shutil
import subprocess

NO_SLABS = "asks for memcached's classes of slabs, of which this server has none"
OWN_START = "starts memcached itself, with options of its own"
HANGS = "waits for ever for a part that this server does not have: "
SKIPS = "skips itself without a memcached that it has built"

# Files of memcached's t/ that are not run, by the pattern of their whole name.
MEMCACHED_NOT_RUN = {
    ".*extstore.*": "external storage, which this server does not have",
    "ssl.*": "TLS, which is left to a proxy",
    "proxy.*": "memcached's proxy, which this server does not have",
    "binary": "the binary protocol, which is refused",
    "binary-sasl": "the binary protocol, which is refused",
    "slabs.*|lru-crawler": NO_SLABS,
    "restart|daemonize|maxconns|dash-M|issue_67|issue_50|unixsocket|udp|item_size_max": OWN_START,
    "issue_140|issue_260|misbehave|refhang|slabhang|whitespace": SKIPS,
    "lru": "the order of memcached's list; here a clock hand removes items that were not used for a while",
    "stats": HANGS + "`stats detail`, and its counts of slabs and of a crawler",
    "stats-detail": HANGS + "`stats detail`, which counts by the prefixes of keys",
    "watcher.*": HANGS + "`watch`, memcached's stream of a log",
}

# Tests that memcached passes and this server does not, by file: the line of each behind `ok`, and why.
MEMCACHED_ACCEPTED = {
    "00-startup": {"9 - auto works": "the name of the binary protocol among the settings"},
    "64bit": {"4 - no active slabs": NO_SLABS, "6 - 1 active slab": NO_SLABS},
    "dyn-maxbytes": {
        "42 - bumped maxbytes from 3m to 8m": "cache_memlimit: the limit stays as it was at the start",
        "43 - stats settings maxbytes updated": "cache_memlimit",
        "47 - bumped maxbytes from 8m to 16m": "cache_memlimit",
        "158 - bumped maxbytes from 16m to 8m": "cache_memlimit",
    },
    "idle-timeout": {"11 - check stats timeout": "memcached has no count idle_kicks without its option; here it is 0"},
    "issue_163": {"4 - Objects should be reclaimed": NO_SLABS},
    "issue_22": {"43 - check evicted": NO_SLABS},
    "issue_29": {"2 - Used one": NO_SLABS, "4 - Used two": NO_SLABS},
    "issue_42": {"11 - Check allocated size: 730 960": NO_SLABS},
    "shutdown": {"1 - error when shutdown is not enabled": "shutdown is no command: SIGTERM ends the server"},
    "stats-conns": {
        "2": "`stats conns` is empty",
        "5 - one client is sending data": "`stats conns` is empty",
        "6 - one client is in command processing": "`stats conns` is empty",
        "7 - nonzero secs_since_last_cmd": "`stats conns` is empty",
    },
    "strtol-testing": {"2": "slabs automove"},
}


def memcached_not_run(name):
    """Returns why a file of t/ is not run, or nothing."""
    return next((why for pattern, why in MEMCACHED_NOT_RUN.items() if re.fullmatch(pattern, name)), None)


def memcached_tree(checkout, folder, memcached):
    """Copies what the tests need to a folder. The tests ask the program memcached-debug for its features."""
    for name in ("t", "doc"):
        shutil.copytree(pathlib.Path(checkout, name), pathlib.Path(folder, name), symlinks=True)
    # Tests of external storage would start a server of their own.
    asked = pathlib.Path(folder, "memcached-debug")
    asked.write_text(f'#!/bin/sh\n{memcached} "$@" | grep -v ext_path\n', encoding="ascii")
    asked.chmod(0o755)


def run_memcached_file(tree, name, port):
    """Runs a file of t/, and returns the sets of the tests that passed and of those that failed."""
    done = subprocess.run(["perl", "-Ilib", f"t/{name}.t"], cwd=tree, capture_output=True, text=True, timeout=300, errors="replace",
                          env={**os.environ, "T_MEMD_USE_DAEMON": f"127.0.0.1:{port}"}, check=False)
    lines = re.findall(r"(?m)^(ok|not ok) (\d+(?: .*)?)$", done.stdout)
    return {text for kind, text in lines if kind == "ok"}, {text for kind, text in lines if kind == "not ok"}


REDIS_UNITS = ("unit/type/string", "unit/type/incr", "unit/expire", "unit/protocol")

# Tests that redis passes and this server does not, by their whole names as patterns.
REDIS_ACCEPTED = {
    "(MSET/)?MSETNX .*": "MSETNX is no command",
    "(SETBIT|GETBIT) .*": "strings are no rows of bits",
    "SETRANGE .*": "parts of strings are not written",
    "string to double with null terminator": "SETRANGE",
    "LCS .*": "LCS is no command",
    "INCRBYFLOAT .*|No negative zero|test argument rewriting - issue 9598": "INCRBYFLOAT is no command",
    "PEXPIREAT can set sub-second expires": "TIME is no command",
    "trim on SET with big value": "redis runs it with its own allocator only, of which INFO tells",
    "5 keys in, 5 keys out": "KEYS is no command: it would stop all clients, and SCAN does not",
    "INCR fails against a key holding a list|MGET against non-string key": "values are strings",
    "EXPIRE - write on expire should work|Extended SET GET with incorrect type .*": "values are strings",
    "raw protocol response.*|Regression for a crash with blocking ops and pipelining": "values are strings",
    ".* propagate.*": "replication",
    "Handle an empty query|Unbalanced number of quotes|Protocol desync regression test #[13]":
        "a connection whose first byte begins no command of redis' protocol speaks memcached's",
}


def redis_accepts(name):
    return next((why for pattern, why in REDIS_ACCEPTED.items() if re.fullmatch(pattern, name)), None)


def redis_tree(checkout, folder):
    """Copies redis' tests to a folder. Their helper sends FUNCTION FLUSH before each unit, which a server without functions refuses."""
    shutil.copytree(pathlib.Path(checkout, "tests"), pathlib.Path(folder, "tests"), symlinks=True)
    pathlib.Path(folder, "src").mkdir()
    helper = pathlib.Path(folder, "tests/support/server.tcl")
    text = helper.read_text(encoding="utf-8")
    line = "    r function flush\n"
    if text.count(line) != 1:
        raise AssertionError(f"{helper} does not have the one line `{line.strip()}` of redis 7.0.15")
    helper.write_text(text.replace(line, "    catch {r function flush}\n"), encoding="utf-8")


def run_redis_unit(tree, unit, port):
    """Runs a unit of redis' tests, and returns the sets of the tests that passed and of those that failed."""
    words = ["tclsh", "tests/test_helper.tcl", "--host", "127.0.0.1", "--port", str(port), "--single", unit, "--singledb", "--durable",
             "--tags", "-needs:debug"]
    done = subprocess.run(words, cwd=tree, capture_output=True, text=True, timeout=600, errors="replace", check=False)
    text = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout)
    return (set(re.findall(r"(?m)^\[ok\]: (.*) \(\d+ ms\)$", text)),
            set(re.findall(rf"(?m)^\[err\]: (.*?) in tests/{unit}\.tcl$", text)))
