"""Tests of how tasks end: what Slurm's words mean, and what the driver makes of an end. They need no Slurm: a fake scontrol answers.

CTest runs it. By hand: python3 experiments/slurm_end_test.py
"""
import contextlib
import io
import json
import os
import pathlib
import tempfile
import unittest
from unittest import mock

import experiment_testing  # noqa: F401  # the path of modules

import blocks  # noqa: E402
import definition  # noqa: E402
import gaps  # noqa: E402
import sweep  # noqa: E402
from driver import TRIES, Driver  # noqa: E402
from engines import kind_builds  # noqa: E402
from engines.end import End  # noqa: E402
from engines.engine import Engine  # noqa: E402
from engines.hosts import Hosts  # noqa: E402
from engines.local import Local  # noqa: E402
from engines.slurm import Slurm  # noqa: E402
from hold import Hold  # noqa: E402
from input_error import InputError  # noqa: E402
from plan import Plan, save  # noqa: E402
from results import Results  # noqa: E402

LIMIT = "slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-11-27T10:00:00 DUE TO TIME LIMIT ***\n"
TAKEN = "slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-11-27T10:00:00 DUE TO PREEMPTION ***\n"
REQUEUED = "slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-11-27T10:00:00 DUE TO JOB REQUEUE ***\n"
CANCELLED = "slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-11-27T10:00:00 ***\n"
MEMORY = "slurmstepd: error: JobId=7 exceeded memory limit (289370112 > 209715200), being killed\n" + CANCELLED


class Words(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        (self.folder / "slurm").mkdir()
        fake = self.folder / "scontrol"
        fake.write_text(f'#!/bin/sh\n[ "$*" = "show job 7_0" ] && cat {self.folder}/shown\n')
        fake.chmod(0o755)
        path = mock.patch.dict(os.environ, PATH=f"{self.folder}:{os.environ['PATH']}")
        path.start()
        self.addCleanup(path.stop)

    def end(self, log="", shown=None, done=0):
        """Returns the end of a task of three points of which so many ran. `shown` is what scontrol knows; None if it forgot the job. `log`
        is None if the job never began."""
        if log is not None:
            (self.folder / "slurm/ours-0.log").write_text(log)
        (self.folder / "shown").unlink(missing_ok=True)
        if shown is not None:
            (self.folder / "shown").write_text(f"JobId=7 ArrayTaskId=0\n   NodeList=n1 {shown}\n")
        task = blocks.Task("", 0, 1, [("a",), ("b",), ("c",)], self.folder, handle={"name": "ours", "index": 0, "job": "7"})
        if log is not None:
            task.done, task.running, task.where = set(range(done)), done, "n1"
        return Slurm(pathlib.Path("harness"), {}, ["slurm"], None).end(task)

    def test_a_time_limit_blames_the_point_that_had_it_alone(self):
        reason = "the time limit of the job was over on n1"
        for log, shown in ((LIMIT, None), ("", "JobState=TIMEOUT Reason=TimeLimit ExitCode=0:15"), ("", "JobState=DEADLINE Reason=x")):
            self.assertEqual(self.end(log, shown), End(reason, blame=True, again=True))
            self.assertEqual(self.end(log, shown, done=1), End(reason, blame=False, again=True))

    def test_a_job_that_another_one_displaced_blames_no_point(self):
        taken = End("another job took the node on n1", blame=False, again=True)
        for log, shown in ((TAKEN, None), (REQUEUED, "JobState=PENDING Reason=BeginTime"), ("", "JobState=PREEMPTED Reason=None")):
            self.assertEqual(self.end(log, shown), taken)

    def test_a_job_that_never_began_is_known_by_its_array(self):
        fake = self.folder / "scontrol"   # as that of Slurm 22.05 answers for an array that was cancelled by its name
        fake.write_text("""#!/bin/sh
            case "$*" in
              "show job 7") printf 'JobId=7 ArrayTaskId=4294967294\n   JobState=CANCELLED NodeList=\n\nJobId=8 JobState=FAILED\n' ;;
              *) echo 'Job 7_0 not found'; exit 1 ;;
            esac\n""")
        self.assertEqual(self.end(None), End("cancelled on its node", False, False))
        self.assertEqual(self.end(""), End("its job ended on n1, and Slurm does not tell why", False, True))   # the array's end is not its

    def test_other_ends(self):
        for log, shown, end in (
            (MEMORY, None, End("out of memory on n1: exceeded memory limit (289370112 > 209715200), being killed", True, True)),
            ("", "JobState=OUT_OF_MEMORY Reason=OutOfMemory ExitCode=0:125", End("out of memory on n1", True, True)),
            (CANCELLED, None, End("cancelled on n1", False, False)),
            ("", "JobState=NODE_FAIL Reason=NodeDown ExitCode=0:0", End("the node failed on n1", False, True)),
            ("", "JobState=FAILED Reason=x ExitCode=0:9", End("killed by signal 9 on n1", True, True)),
            ("block.sh: the records cannot be written: /d/t.records\n", "JobState=FAILED Reason=NonZeroExitCode ExitCode=3:0",
             End("block.sh: the records cannot be written: /d/t.records on n1", False, False)),   # such as a full disk
            ("", None, End("its job ended on n1, and Slurm does not tell why", False, True)),
        ):
            with self.subTest(log=log, shown=shown):
                self.assertEqual(self.end(log, shown), end)


class Emitted(unittest.TestCase):
    """Tasks of a script, which the user runs by block.sh where no Slurm is, or where it does not know the node."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name) / "out"
        self.tools = pathlib.Path(scratch.name) / "tools"
        self.tools.mkdir()
        path = mock.patch.dict(os.environ, PATH=str(self.tools))
        path.start()
        self.addCleanup(path.stop)
        self.said = io.StringIO()

    def tool(self, name, text):
        (self.tools / name).write_text(f"#!/bin/sh\n{text}\n")
        (self.tools / name).chmod(0o755)

    def emit(self, kind="zen4", partition=None):
        """Gives the command. Returns how many tasks wait, and the new scripts; `plan` is what is known then."""
        options = {"partition": partition} if partition else {}
        points = [definition.Point(0, "", None, (f"--index={name}",)) for name in "ab"]
        builds = mock.Mock(binaries={kind: pathlib.Path("harness")})
        engine = Slurm(pathlib.Path("harness"), options, [kind], builds)
        with Hold(self.folder, [kind]) as hold, contextlib.redirect_stderr(self.said), contextlib.redirect_stdout(io.StringIO()):
            self.plan = Plan(definition.Experiment("sweep", "", "", "", 1, [], points), {kind: Results(self.folder / kind, "binary")})
            tasks, paths = Driver(self.plan, engine, self.folder, hold).emit()
            sweep.tell_scripts(tasks, paths, engine)
        return len(tasks), paths

    def runs(self, task, count):
        """Notes that so many points of a task ran on pbs1, and that another one began there."""
        document = {"status": "ok", "reason": ""}
        lines = [{"point": each, "node": "pbs1", "began": 1, "ended": 2, "exit": 0, "said": "", "document": document}
                 for each in range(count)]
        path = self.folder / f"tasks/{task}.records.part"
        path.write_text("".join(json.dumps(line) + "\n" for line in [*lines, {"begins": count, "node": "pbs1", "at": 2}]))
        return path

    def test_a_task_that_runs_is_left_alone_until_it_or_the_user_says_that_it_has_ended(self):
        self.assertEqual(self.emit()[0], 1)
        records = self.runs("zen4-block0-try1", 1)
        for _ in range(2):
            self.assertEqual(self.emit(), (1, []))
            self.assertEqual(self.plan.done("zen4"), 1)
            self.assertTrue(records.exists())
        self.assertIn(f"zen4-block0-try1 has begun and not ended; if it was killed, say so: mv {records} ", self.said.getvalue())
        self.assertEqual(self.said.getvalue().count("sweep: 1 tasks are to be run. "), 1)   # before it began
        self.assertIn("sweep: 1 tasks have begun and not ended\n", self.said.getvalue())
        records.rename(records.with_suffix(""))
        waiting, (script,) = self.emit()
        self.assertIn("sweep: zen4-block0-try1: it ended on pbs1, outside of Slurm; 1 of its 2 runs are left\n", self.said.getvalue())
        self.assertEqual((waiting, self.plan.done("zen4")), (1, 1))
        self.assertIn("--nodelist=pbs1\n", script.read_text())   # the rest belongs there

    def test_a_node_that_slurm_does_not_know_is_not_down(self):
        self.tool("squeue", "true")
        self.tool("sinfo", "echo 'n1|idle|zen4|bench|bench*'")
        self.emit()
        records = self.runs("zen4-block0-try1", 1)
        self.assertEqual(self.emit(), (1, []))   # no job of Slurm runs it
        records.rename(records.with_suffix(""))
        self.assertIn("--nodelist=pbs1\n", self.emit()[1][0].read_text())
        self.assertFalse((self.folder / "zen4/aside.jsonl").exists())

    def test_whole_records_are_collected_where_slurm_does_not_answer(self):
        for tool in ("squeue", "sinfo"):
            self.tool(tool, "exit 1")
        self.emit()
        records = self.runs("zen4-block0-try1", 1)
        records.rename(records.with_suffix(""))
        waiting, (script,) = self.emit()
        self.assertEqual((waiting, self.plan.done("zen4")), (1, 1))
        self.assertIn("--nodelist=pbs1\n", script.read_text())
        records = self.runs("zen4-block0-try2", 1)
        records.rename(records.with_suffix(""))
        self.assertEqual((self.emit(), self.plan.done("zen4")), ((0, []), 2))

    def test_what_the_cluster_does_not_have_is_refused_where_slurm_answers(self):
        self.tool("sinfo", "echo 'n1|idle|zen4|bench|bench*'")
        for kind, partition, said in (("zen9", None, "no node of the partition has zen9"),
                                      ("zen4", "gold", "there is no partition 'gold'")):
            with self.assertRaisesRegex(InputError, said):
                self.emit(kind, partition)
            self.assertFalse(self.folder.exists())   # the corrected command finds nothing in its way
        self.tool("sinfo", "exit 1")   # its controller does not answer
        self.assertEqual(self.emit("zen9")[0], 1)

    def test_a_job_that_has_left_the_queue_has_ended_and_a_silent_slurm_tells_nothing(self):
        self.emit()
        records = self.runs("zen4-block0-try1", 1)
        handle = json.loads((self.folder / "tasks/zen4-block0-try1.json").read_text())["handle"]
        (self.folder / f"tasks/slurm/{handle['name']}-0.log").touch()   # Slurm ran it
        for tools in ((), ("squeue", "sinfo")):   # without Slurm, and where its controller does not answer
            for tool in tools:
                self.tool(tool, "exit 1")
            self.assertEqual(self.emit(), (1, []))
            self.assertTrue(records.exists())
        self.tool("squeue", "true")
        self.tool("sinfo", "echo 'n1|idle|zen4|bench|bench*'")
        waiting, scripts = self.emit()
        self.assertEqual((waiting, len(scripts)), (1, 1))


class Ending(Engine):
    """Runs some points of each task, and ends it in the next one: `ends` has how many, and the End. The last task runs all of its."""

    kinds = [""]

    def __init__(self, ends):
        self.ends = list(ends)
        self.ran = []

    def start(self, tasks):
        (task,) = tasks
        count, self.last = self.ends.pop(0) if self.ends else (len(task.arguments), None)
        lines = []
        for number in range(count):
            document = {"status": "ok", "reason": ""}
            lines += [{"begins": number, "node": "n1", "at": 1}]
            lines += [{"point": number, "node": "n1", "began": 1, "ended": 2, "exit": 0, "said": "", "document": document}]
        lines += [{"begins": count, "node": "n1", "at": 2}] if self.last else []
        self.ran += task.arguments[:count]
        task.file("records.part").write_text("".join(json.dumps(line) + "\n" for line in lines))

    def live(self, _tasks):
        return []

    def end(self, _task):
        return self.last

    def wait(self):
        pass


class Waits(unittest.TestCase):
    def test_the_reason_of_a_job_that_may_wait_for_ever_is_told_once_and_kept(self):
        with tempfile.TemporaryDirectory() as scratch, contextlib.redirect_stderr(io.StringIO()) as said:
            folder = pathlib.Path(scratch)
            (folder / "squeue").write_text(f"#!/bin/sh\nexec cat {folder}/queue\n")
            (folder / "squeue").chmod(0o755)
            self.enterContext(mock.patch.dict(os.environ, PATH=f"{folder}:{os.environ['PATH']}"))
            handles = [{"name": "latchlab-x", "index": index, "job": "7"} for index in (0, 1)]
            tasks = [blocks.Task("", index, 1, [("a",)], folder, handle=handles[index]) for index in (0, 1)]
            slurm = Slurm(pathlib.Path("harness"), {}, ["slurm"], None)
            limit = "PartitionTimeLimit"
            for reason, kept in (("Priority", ""), (limit, limit), (limit, limit), ("Resources", "")):
                (folder / "queue").write_text(f"latchlab-x|0|7|7|PENDING|{reason}\nlatchlab-x|1|7|8|RUNNING|None\n"
                                              "other|N/A|9|9|PENDING|Held\n")
                slurm.looked = 0
                self.assertEqual(slurm.live(tasks), tasks)
                self.assertEqual([task.handle.get("waits", "") for task in tasks], [kept, ""])
                if kept:
                    self.assertEqual(blocks.tasks_in(folder)[0].handle["waits"], kept)
        self.assertEqual(said.getvalue(), "sweep: 1 jobs wait: PartitionTimeLimit (such as 7_0); if they can never run, interrupt and "
                                          "scancel\n")


class Builds(unittest.TestCase):
    def test_the_job_of_a_driver_that_was_killed_while_it_built_is_awaited_and_not_doubled(self):
        with tempfile.TemporaryDirectory() as scratch, contextlib.redirect_stderr(io.StringIO()):
            folder = pathlib.Path(scratch)
            for name, value in (("JOBS", folder / "jobs"), ("LOOK", 0), ("source_of", lambda _: "commit")):
                self.enterContext(mock.patch.object(kind_builds, name, value))
            engine = mock.Mock(kinds=["zen4"], queue={}, mine=set())
            for killed in (True, False):
                builds = kind_builds.KindBuilds({}, ["art:olc"], folder)
                builds.recall(["zen4"])
                if killed:
                    engine.look.side_effect = SystemExit   # nothing that the driver handles
                    with self.assertRaises(SystemExit):
                        builds.make(engine)
                    answer = {"harness": str(folder / "harness"), "model": "m", "compiler": "c"}
                    (folder / f"jobs/{builds.jobs['zen4']}.json").write_text(json.dumps(answer))
                else:
                    builds.make(engine)
            self.assertEqual((engine.submit.call_count, builds.binaries), (1, {"zen4": folder / "harness"}))
            self.assertEqual(engine.mine, {engine.submit.call_args.args[0]})
            self.assertEqual(json.loads((folder / "kinds.json").read_text())["jobs"], {})

    def test_a_job_that_ended_without_an_answer_is_forgotten(self):
        with tempfile.TemporaryDirectory() as scratch, contextlib.redirect_stderr(io.StringIO()):
            folder = pathlib.Path(scratch)
            for name, value in (("JOBS", folder / "jobs"), ("source_of", lambda _: "commit")):
                self.enterContext(mock.patch.object(kind_builds, name, value))
            engine = mock.Mock(kinds=["zen4"], queue={}, mine=set())
            builds = kind_builds.KindBuilds({}, ["art:olc"], folder)
            builds.recall(["zen4"])
            with self.assertRaisesRegex(InputError, "the job that builds its harness ended: it wrote nothing"):
                builds.make(engine)
            engine.cancel.assert_called_once()
            self.assertFalse((folder / "kinds.json").exists())


class Plans(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.enterContext(mock.patch("os.fsync"))

    def plan(self, points, replicates):
        points = [definition.Point(0, "", None, (f"--threads={each}",)) for each in range(points)]
        return Plan(definition.Experiment("sweep", "", "", "", replicates, [], points), {"": Results(self.folder, "binary")})

    def keep(self, plan, point, replicate, status="ok"):
        run = {"node": "n1", "began": 1, "ended": 2 + point.arguments.__hash__() % 7}
        plan.keep("", point, replicate, {"status": status, "reason": "", "throughput": None}, run)

    def test_a_run_costs_no_look_at_the_others(self):
        plan = self.plan(60, 5)
        with mock.patch("gaps.of_all", side_effect=gaps.of_all) as looks, mock.patch("blocks.order", side_effect=blocks.order) as orders:
            for replicate in range(5):
                for _, point in plan.pending("", replicate):
                    self.keep(plan, point, replicate)
                    plan.left("")
                    plan.seconds_left(1)
        self.assertEqual(plan.left(""), 0)
        self.assertEqual(orders.call_count, 5)
        self.assertEqual(looks.call_count, 5 * 60)

    def test_answers_are_those_of_a_plan_that_reads_the_results_anew(self):
        plan = self.plan(6, 3)
        points = plan.experiment.points
        steps = [lambda: self.keep(plan, points[0], 1), lambda: plan.fail("", points[1].arguments, 0, "x"),
                 lambda: self.keep(plan, points[2], 2, "skipped"), lambda: self.keep(plan, points[3], 2),
                 lambda: plan.fail("", points[1].arguments, 7, "x"), lambda: plan.put_aside("", 2), lambda: self.keep(plan, points[0], 2)]
        for step in steps:
            plan.seconds_left(1)
            step()
            anew = self.plan(6, 3)
            anew.failures = plan.failures
            for replicate in range(3):
                self.assertEqual(plan.pending("", replicate), anew.pending("", replicate))
                self.assertEqual(plan.node_of("", replicate), anew.node_of("", replicate))
            self.assertEqual((plan.left(""), plan.seconds_left(2)), (anew.left(""), anew.seconds_left(2)))


class Beginnings(unittest.TestCase):
    """A driver that finds the tasks of another one."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        (self.folder / "tasks").mkdir()
        (self.folder / "hosts").write_text("ant\n")

    def found(self, engine, by, handle, ending):
        """Returns a driver with this engine, and a task of two points, one of which ran, that the engine `by` started."""
        task = blocks.Task("", 0, 1, [("--index=a",), ("--index=b",)], self.folder / "tasks", "n1", by, handle)
        task.save()
        line = {"point": 0, "node": "n1", "began": 1, "ended": 2, "exit": 0, "said": "", "document": {"status": "ok", "reason": ""}}
        task.file(ending).write_text(json.dumps(line) + "\n")
        points = [definition.Point(0, "", None, arguments) for arguments in task.arguments]
        plan = Plan(definition.Experiment("sweep", "", "", "", 1, [], points), {"": Results(self.folder, "binary")})
        with Hold(self.folder) as hold:
            return Driver(plan, engine, self.folder, hold)

    def test_a_task_that_may_run_elsewhere_is_refused_and_stays(self):
        local, hosts = Local("harness"), Hosts(self.folder / "hosts", "harness", [])
        for engine, by, handle, said in (
            (local, "hosts", {"host": os.uname().nodename}, "--on=hosts started it, and it may still run"),
            (local, "slurm", {"name": "ours", "index": 0}, "--on=slurm started it"),
            (hosts, "slurm", {"name": "ours", "index": 0}, "--on=slurm started it"),
            (hosts, "hosts", {"host": "login2"}, "login2 started it"),
        ):
            with self.subTest(by=by, engine=engine.name):
                with self.assertRaisesRegex(InputError, said):
                    self.found(engine, by, handle, "records.part")
                there = {path.name for path in (self.folder / "tasks").iterdir()}
                self.assertEqual(there, {"block0-try1.json", "block0-try1.records.part"})

    def test_a_task_of_another_engine_that_has_ended_is_collected(self):
        for by, ending in (("hosts", "records"), ("local", "records.part")):   # one of local ends with its driver
            driver = self.found(Local("harness"), by, {}, ending)
            self.addCleanup(driver.said.close)
            driver.collect()
            self.assertEqual(list(driver.plan.results[""].known), [(("--index=a",), 0)])
            self.assertEqual(list((self.folder / "tasks").iterdir()), [])

    def test_a_block_goes_on_where_it_began_or_begins_anew(self):
        with mock.patch.dict(os.environ, LATCHLAB_NODE="n2"), contextlib.redirect_stderr(io.StringIO()) as said:
            driver = self.found(Local("harness"), "local", {}, "records.part")
            self.addCleanup(driver.said.close)
            driver.collect()
            (task,) = driver.next_tasks()
        self.assertEqual((len(task.arguments), task.node), (2, ""))
        self.assertIn("block0: node n1 is not this machine; 1 results are put aside", said.getvalue())
        with mock.patch.dict(os.environ, LATCHLAB_NODE="n1"):
            driver = self.found(Local("harness"), "local", {}, "records.part")
            self.addCleanup(driver.said.close)
            driver.collect()
            (task,) = driver.next_tasks()
        self.assertEqual((task.arguments, task.node), ([("--index=b",)], "n1"))


class Full(unittest.TestCase):
    """A full disk: /dev/full takes no byte."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def test_a_failure_that_cannot_be_noted_ends_the_call_in_one_line(self):
        plan = Plan(definition.Experiment("sweep", "", "", "", 1, [], [definition.Point(0, "", None, ("--index=a",))]),
                    {"": Results(self.folder, "binary")})
        self.enterContext(contextlib.redirect_stderr(io.StringIO()))
        engine = Ending([(0, End("killed", True, True))])
        engine.stop = lambda: "the same command goes on"
        said = "^/dev/full: No space left on device; what was kept stays, and the same command goes on$"
        with self.assertRaisesRegex(InputError, said), Hold(self.folder) as hold:
            driver = Driver(plan, engine, self.folder, hold)
            driver.said.close()
            driver.said = open("/dev/full", driver.said.mode, buffering=0)
            driver.run()

    def test_a_sweep_that_cannot_be_described_ends_the_call_in_one_line(self):
        (self.folder / "harness").touch()
        (self.folder / "sweep.json.part").symlink_to("/dev/full")
        with self.assertRaisesRegex(InputError, f"^--out: {self.folder}/sweep.json.part: No space left on device$"):
            save(self.folder, definition.Experiment("sweep", "", "", "", 1, [], []), Local(self.folder / "harness"), [])
        self.assertFalse((self.folder / "sweep.json.part").exists())

    def test_a_hold_that_cannot_be_written_names_its_file(self):
        full = OSError(28, "No space left on device")   # as write_text raises it, without a name
        with mock.patch("pathlib.Path.write_text", side_effect=full), self.assertRaisesRegex(InputError, r"tasks/\w+.driver: No space"):
            with Hold(self.folder):
                self.fail("it holds the folder")
        self.assertEqual(list(self.folder.iterdir()), [])


class Refusing(Ending):
    """Refuses the tasks whose number, from 0 on, is in `refuses`."""

    def __init__(self, refuses, ends):
        super().__init__(ends)
        self.refuses, self.asked = refuses, 0

    def start(self, tasks):
        self.asked += 1
        if self.asked - 1 in self.refuses:
            raise InputError("no controller")
        super().start(tasks)


class Ends(unittest.TestCase):
    def drive(self, *ends, refuses=()):
        """Drives five points, a to e, through these ends. Returns the points that ran, in that order if one block, and what failed."""
        with tempfile.TemporaryDirectory() as scratch, contextlib.redirect_stderr(io.StringIO()) as self.said:
            folder = pathlib.Path(scratch)
            points = [definition.Point(0, "", None, (f"--index={name}",)) for name in "abcde"]
            plan = Plan(definition.Experiment("sweep", "", "", "", 1, [], points), {"": Results(folder, "binary")})
            engine = Refusing(refuses, ends)
            with Hold(folder) as hold:
                Driver(plan, engine, folder, hold).run()
            self.assertEqual(list((folder / "tasks").iterdir()), [])
            self.assertEqual(len(set(engine.ran)), len(engine.ran))   # none ran twice
            self.assertEqual(set(engine.ran), {arguments for arguments, _ in plan.results[""].known})
            self.order = [point.arguments for point in blocks.order(plan.experiment, 0)]
            return len(engine.ran), {arguments: reason for (_, arguments, _), reason in plan.failures.items()}

    def test_a_displaced_task_is_followed_by_one_that_runs_what_is_left(self):
        taken = End("taken", False, True)
        self.assertEqual(self.drive((2, taken), (0, taken), (1, taken)), (5, {}))

    def test_a_block_that_makes_no_progress_fails_in_the_end(self):
        taken = End("taken", False, True)
        ran, failed = self.drive((2, taken), *[(0, taken)] * TRIES)
        self.assertEqual(ran, 2)
        self.assertEqual(failed, dict.fromkeys(self.order[2:], "taken"))

    def test_a_task_that_has_to_wait_for_another_sweep_is_no_try(self):
        busy = End("another task of a sweep runs there", False, True, counts=False)
        self.assertEqual(self.drive((2, busy), *[(0, busy)] * 3 * TRIES), (5, {}))
        said = [line for line in self.said.getvalue().splitlines() if busy.reason in line]
        self.assertEqual(said, [f"sweep: block0-try1: {busy.reason}; 3 of its 5 runs are left"])   # once, also where one task runs at a time

    def test_the_point_to_blame_fails_alone(self):
        self.assertEqual(self.drive((0, End("time", True, True))), (4, {self.order[0]: "time"}))

    def test_a_submission_that_is_refused_in_the_middle_is_tried_again(self):
        taken = End("taken", False, True)
        with mock.patch("driver.AGAIN", 0):
            self.assertEqual(self.drive((2, taken), refuses=(1, 2, 3, 4, 5)), (5, {}))
            with mock.patch("driver.PATIENCE", 0):
                ran, failed = self.drive((2, taken), refuses=range(1, 9))
        self.assertEqual((ran, failed), (2, dict.fromkeys(self.order[2:], "no controller")))
        with self.assertRaisesRegex(InputError, "^no controller$"):
            self.drive(refuses=(0,))

    def test_a_task_that_is_not_tried_again_fails_whole(self):
        ran, failed = self.drive((3, End("cancelled", False, False)))
        self.assertEqual((ran, failed), (3, dict.fromkeys(self.order[3:], "cancelled")))


if __name__ == "__main__":
    unittest.main()
