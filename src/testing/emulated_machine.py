"""An emulated machine of two sockets, four NUMA nodes and eight processors, on any host. QEMU, by software alone, boots
Debian's cloud kernel on an initramfs that holds one binary, and runs command lines there.

    socket 0                             socket 1              distance within a socket 15, to the other 21
    ├─ cluster 0, node 0: core 0, cpu 0-1   ├─ cluster 2, node 2: core 2, cpu 4-5
    └─ cluster 1, node 1: core 1, cpu 2-3   └─ cluster 3, node 3: core 3, cpu 6-7

The output of the commands comes back as a tar file over the second serial line. The console is on the first one.

By hand: python3 src/testing/emulated_machine.py build/release/harness 'harness doctor' 'harness --mem=interleave --json'
"""

import io
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from typing import NamedTuple

TREE = pathlib.Path(__file__).resolve().parents[2]
KERNEL = pathlib.Path(os.environ.get("LATCHLAB_KERNEL") or TREE / "build/linux/vmlinuz")   # put there by cmake/setup.sh
QEMU = "qemu-system-x86_64"
BUSYBOX = "busybox"

NODE_BYTES = "384M"
INIT = """#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
cd /commands
for line in *; do
  mkdir -p /results/$line
  sh ./$line >/results/$line/stdout 2>/results/$line/stderr </dev/null
  echo $? >/results/$line/status
done
stty -F /dev/ttyS1 raw
tar -c -C /results . >/dev/ttyS1
poweroff -f
"""


class Done(NamedTuple):
    """The result of a command line."""

    status: int
    stdout: str
    stderr: str


def why_not():
    """Returns what the machine lacks, in one line; empty if it can run."""
    missing = [f"no {tool}" for tool in (QEMU, BUSYBOX, "cpio") if shutil.which(tool) is None]
    if not KERNEL.is_file():
        missing.append(f"no kernel at {KERNEL}")
    return ", ".join(missing)


def libraries_of(binary):
    """Returns the files that the loader maps for a binary."""
    said = subprocess.run(["ldd", str(binary)], capture_output=True, text=True, check=True).stdout
    return re.findall(r"(?:^|\s)(/\S+)", said)


def initramfs(folder, binary, lines):
    """Returns a packed root file system: `binary` as /bin/NAME, its libraries, and a file for each command line."""
    root = pathlib.Path(folder) / "root"
    for name in ("bin", "proc", "sys", "dev", "tmp", "commands", "results"):
        (root / name).mkdir(parents=True)
    shutil.copy(shutil.which(BUSYBOX), root / "bin/busybox")
    shutil.copy(binary, root / "bin")
    for library in libraries_of(binary):
        copy = root / library.lstrip("/")
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(library, copy)
    for number, line in enumerate(lines):
        (root / f"commands/{number:04}").write_text(line + "\n")
    (root / "init").write_text(INIT)
    (root / "init").chmod(0o755)
    files = "\0".join(str(path.relative_to(root)) for path in sorted(root.rglob("*")))
    packed = subprocess.run(["cpio", "-0", "-o", "-H", "newc", "--quiet"], cwd=root, input=files.encode(), capture_output=True, check=True)
    return packed.stdout


def machine_options():
    nodes = range(4)
    # One thread runs all processors. With a thread each, a guest processor that waits for another may hang in its kernel.
    options = ["-accel", "tcg,thread=single", "-machine", "q35", "-cpu", "max,vendor=GenuineIntel", "-m", f"{4 * int(NODE_BYTES[:-1])}M"]
    options += ["-smp", "8,sockets=2,dies=2,cores=1,threads=2"]
    for node in nodes:
        options += ["-object", f"memory-backend-ram,id=memory{node},size={NODE_BYTES}"]
        options += ["-numa", f"node,nodeid={node},cpus={2 * node}-{2 * node + 1},memdev=memory{node}"]
    for a in nodes:
        for b in range(a + 1, 4):
            options += ["-numa", f"dist,src={a},dst={b},val={15 if a // 2 == b // 2 else 21}"]
    return options


def run(binary, lines, seconds=500):
    """Boots the machine once and runs the lines there, each by a shell with `binary` in its path. Raises RuntimeError with the end of
    the console's text if the results do not arrive within `seconds`."""
    with tempfile.TemporaryDirectory() as folder:
        packed, results, console = (pathlib.Path(folder) / name for name in ("initramfs", "results", "console"))
        packed.write_bytes(initramfs(folder, binary, lines))
        command = [QEMU, *machine_options(), "-kernel", str(KERNEL), "-initrd", str(packed), "-no-reboot", "-nodefaults", "-display", "none"]
        command += ["-append", "console=ttyS0 quiet panic=-1 mitigations=off numa_balancing=disable"]
        command += ["-serial", f"file:{console}", "-serial", f"file:{results}"]
        try:
            subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds, check=True)
            return read(results.read_bytes(), len(lines))
        except (subprocess.SubprocessError, tarfile.TarError, KeyError) as error:
            said = console.read_text(errors="replace")[-2000:] if console.exists() else ""
            raise RuntimeError(f"the emulated machine returned no results: {error}\n{said}") from error


def read(tar, count):
    with tarfile.open(fileobj=io.BytesIO(tar)) as files:

        def text(number, name):
            return files.extractfile(f"./{number:04}/{name}").read().decode()

        return [Done(int(text(n, "status")), text(n, "stdout"), text(n, "stderr")) for n in range(count)]


def main(arguments):
    if len(arguments) < 2:
        sys.exit("emulated_machine.py BINARY LINE...: boots a machine of four NUMA nodes and runs the lines in it")
    if missing := why_not():
        sys.exit(f"the emulated machine cannot run here: {missing}")
    for line, done in zip(arguments[1:], run(arguments[0], arguments[1:])):
        print(f"$ {line}\n{done.stdout}{done.stderr}[{done.status}]")


if __name__ == "__main__":
    main(sys.argv[1:])
