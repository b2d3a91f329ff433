"""A cluster of two nodes on this machine, for tests: Slurm and munge in a folder of their own, as root, without systemd.

Slurm enforces the memory of a job, and does no accounting. Both nodes share this machine's processors, so no time means anything.
"""
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import time

PROGRAMS = ("slurmctld", "slurmd", "sbatch", "munged")
NODES = {"n1": "zen4,avx512,x86", "n2": "skylake,tsx,x86"}

SETTINGS = """ClusterName=lab
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock
CredType=cred/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}/ctl
SlurmdSpoolDir={folder}/%n
SlurmctldPidFile={folder}/ctl.pid
SlurmdPidFile={folder}/%n.pid
SlurmctldLogFile={folder}/log/ctl.log
SlurmdLogFile={folder}/log/%n.log
SlurmdTimeout=5
SchedulerParameters=bf_interval=1,batch_sched_delay=1
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobAcctGatherParams=OverMemoryKill
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
ReturnToService=2
SlurmdParameters=config_overrides
"""
NODE = ("NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=2 Sockets=1 CoresPerSocket=2 RealMemory=4000 "
        "Feature={features}\n")
PARTITION = "PartitionName=bench Nodes={nodes} Default=YES OverSubscribe=EXCLUSIVE MaxTime=60 DefMemPerNode=300 State=UP\n"


def why_not():
    """The reason why this machine cannot run the cluster; "" if it can."""
    missing = [name for name in PROGRAMS if not program(name)]
    if missing:
        return f"{', '.join(missing)} of the packages slurm-wlm and munge are not installed"
    return "" if os.geteuid() == 0 else "only root can run Slurm's daemons"


def program(name):
    return shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/sbin")


def free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def wait_for(condition, seconds, what):
    """Returns what the condition returns when that is true."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if value := condition():
            return value
        time.sleep(0.1)
    raise AssertionError(f"after {seconds} s there was no {what}")


class Cluster:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        for name in ("ctl", "log", *NODES):
            (self.folder / name).mkdir()
        host = socket.gethostname().partition(".")[0]
        ports = free_ports(1 + len(NODES))
        text = SETTINGS.format(host=host, ports=ports, folder=self.folder)
        for name, port in zip(NODES, ports[1:], strict=True):
            text += NODE.format(name=name, host=host, port=port, features=NODES[name])
        (self.folder / "slurm.conf").write_text(text + PARTITION.format(nodes=",".join(NODES)))
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        self.environment = os.environ | {"SLURM_CONF": str(self.folder / "slurm.conf")}
        self.munge = self.daemon("munged", "--foreground", "--force", f"--key-file={key}", f"--socket={self.folder}/munge.sock",
                                 f"--pid-file={self.folder}/munged.pid", f"--seed-file={self.folder}/munge.seed",
                                 f"--log-file={self.folder}/log/munged.log")
        self.nodes = {}
        try:
            wait_for((self.folder / "munge.sock").exists, 20, "munge")
            self.start_control()
            for name in NODES:
                self.start_node(name)
            wait_for(lambda: self.ask("sinfo", "-h", "-o", "%T %D").split() == ["idle", "2"], 40, "idle cluster")
        except AssertionError:
            self.stop()
            raise

    def daemon(self, name, *arguments):
        log = open(self.folder / "log" / f"{name}.out", "ab")
        with log:
            return subprocess.Popen([program(name), *arguments], env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def start_control(self):
        self.control = self.daemon("slurmctld", "-D")

    def start_node(self, name):
        self.nodes[name] = self.daemon("slurmd", "-D", "-N", name)

    def ask(self, *command):
        return subprocess.run(command, env=self.environment, capture_output=True, text=True, check=False, timeout=60).stdout

    def kill_node(self, name):
        """Kills the daemon of a node and that of its job, as a crash of the machine does."""
        self.nodes[name].kill()
        self.nodes[name].wait()
        for step in self.steps(name):
            os.kill(step, signal.SIGKILL)

    def steps(self, name):
        """The step daemons of a node: its spool folder is open in them, or the pid of their socket tells."""
        found = []
        for path in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                words = (path / "cmdline").read_bytes()
                if b"slurmstepd" in words and any(name == word for word in self.names_of(path)):
                    found.append(int(path.name))
            except OSError:
                continue   # it has just ended
        return found

    def names_of(self, path):
        """The nodes whose log a process has open."""
        names = set()
        for link in (path / "fd").iterdir():
            try:
                target = os.readlink(link)
            except OSError:
                continue
            for name in NODES:
                if target == str(self.folder / "log" / f"{name}.log"):
                    names.add(name)
        return names

    def stop_control(self):
        self.control.terminate()
        self.control.wait(30)

    def stop(self):
        self.ask("scancel", "--user=root")
        for process in [*self.nodes.values(), getattr(self, "control", None), self.munge]:
            if process and process.poll() is None:
                process.terminate()
        for process in [*self.nodes.values(), getattr(self, "control", None), self.munge]:
            if process:
                try:
                    process.wait(15)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
        for name in self.nodes:
            for step in self.steps(name):
                os.kill(step, signal.SIGKILL)
