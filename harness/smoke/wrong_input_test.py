"""Four hundred wrong inputs: options, combinations and files. Each is refused with one line and exit status 2, and nothing runs.

Run by CTest, which says where the binary is; by hand:
LATCHLAB_HARNESS=build/release/harness python3 harness/smoke/wrong_input_test.py
"""

import concurrent.futures
import gzip
import os
import pathlib
import struct
import subprocess
import tempfile
import unittest

from smoke_testing import as_zstd

TREE = pathlib.Path(__file__).resolve().parents[2]
HARNESS = os.environ.get("LATCHLAB_HARNESS") or str(TREE / "build/release/harness")

# Options that are wrong by themselves, with any index.
OPTIONS = """
--no-such --threds=2 --threads --threads= --threads=0 --threads=-1 --threads=1.5 --threads=two --threads=1025 --threads=1e3
--threads=99999999999999999999 --threads=1..0 --threads=1..8*1 --threads=1..8+0 --threads=1..8*0 --threads={1,2 --threads=1,2}
--threads={} --threads={1,,2} --threads={2,2} --threads=1..9223372036854775807 --threads=0x10
--index= --index=: --index=nosuch --index=ART --index=art,x=1 --index=art:7 --index=chained:x --index=null,null=1
--sync=nosuch --sync=rtm:-1 --sync=rtm:x --sync=rtm:20,wait=2 --sync=rtm:20,nosuch=1 --sync=rtm:20,wait --sync=olc:3
--pin=nowhere --pin=socket --pin=socket: --pin=socket:x --pin=socket:999 --pin=list: --pin=list:5-3 --pin=list:0-99999999
--pin=list:a --pin=list:0,,1 --pin=list:0- --pin=list:99999 --pin=cluster:999 --pin=cluster:x --smt=maybe --mem=bind --mem=bind:x
--mem=bind:999 --mem=nosuch --threads-per=core --topology=/no/such --topology=/etc/passwd
--alloc=nosuch --alloc= --hugepages=1g --clear-accessed=0 --clear-accessed=x --fit=1 --mem=interleave:0
--reclaim=nosuch --isa=nosuch --isa=avx2 --value-size=16777217 --value-size=1T --value-size=-1
--value-size=abc --value-size= --value-size=17Mi --value-size=16.5 --value-size={8,-1}
--workload=nosuch --workload=mix --workload=mix: --workload=mix:read=50 --workload=mix:read=200 --workload=mix:read=-1,insert=101
--workload=mix:read=nan --workload=mix:raed=100 --workload=mix:read=50,read=50 --workload=mix:scan=100,scan_length=0
--workload=mix:multi_get=100,multi_get_keys=257 --workload=mix:read=100,multi_get_keys=2 --workload=mix:modify=99 --workload=mix:modifies=100
--workload=mix:scan=100,scan_length=9-1 --workload=mix:read=100,scan_length=5 --workload=ycsb-g --workload=lookup:1
--workload=insert,x=1 --workload=wiscer --workload=wiscer: --workload=wiscer:nosuch --workload=wiscer:/no/such --workload=wiscer:/
--workload=trace --workload=trace: --workload=trace:/no/such --workload=trace:/etc/passwd --workload=trace:/ --workload=trace:/dev/null
--keys=nosuch --keys=u64:1 --keys=stride --keys=stride:0 --keys=stride:x --keys=stride:-1 --keys=clustered:3 --keys=clustered:1
--keys=email:0 --keys=url:x --keys=file --keys=file: --keys=file:/no/such --keys=file:/ --keys=file:/dev/null --keys=/etc/passwd
--keys=sosd --keys=sosd:/no/such --keys=sosd:/dev --keys=dense:in_order=2 --keys=affine:x=1
--dist=nosuch --dist=zipf --dist=zipf: --dist=zipf:-1 --dist=zipf:nan --dist=zipf:inf --dist=zipf:x --dist=zipf:1,x=2
--dist=uniform:1 --dist=hotspot:0 --dist=hotspot:2 --dist=hotspot:.1,hits=2 --dist=hotspot:.1,hot=1 --dist=self-similar
--dist=self-similar:.6 --dist=exponential --dist=exponential:0 --dist=latest:-1 --dist=histogram --dist=histogram:/no/such
--churn=nosuch --churn=drift --churn=drift:0 --churn=drift:5 --churn=flash --churn=flash:10,share=2 --churn=flash:10,length=11
--negative=2 --negative=-0.1 --negative=x --negative=nan --negative= --batch=0 --batch=3 --batch=128 --batch=16:sideways
--batch=1:in-turn --records=0 --records=x --records=1.5 --records=-1 --records=99T --records=1m --records=99999999999999999999
--warmup=-1s --warmup=1 --warmup=1h --warmup=99999999min --time=0 --time=1 --time=x --time=1us --time=999999999s --ops=0 --ops=x
--sample=0 --sample=1us --latency=some --latency=sample --latency=sample:2 --latency=sample:0 --latency=sample:0.7 --seed=-1
--seed=x --validate=maybe --history= --history=x,keys=2 --reps=0 --reps=10001 --reps=x --out= --out=/no/such/folder --out=/dev/null --json=1 --strict=1
--progress=loud --block=x --order=1 --replicate=-1 --pmu=nosuch --pmu= -x threads=2 -- --=1 --help=1
--index=at --sync=olk --sync=rtm:20,whait=1 --sync=own --threads=2..1 --threads={1,} --pmu=tzx --pmu=core,core --pmu=core,off
--pmu={core,} --pmu=CYCLES:sometimes --pin=socket:99 --pin=list:9999 --alloc=arena+ --hugepages=1G --workload=lokup
--workload=mix:read=50,insert=60 --workload=mix:read=x --keys=u17 --keys=file:/nonexistent --negative=1.5 --records=-5
--rate=0 --rate=fast --rate=1M,amplitude=1 --rate=poisson --rate=sine:1M,amplitude=1.5 --rate=sine:1M,period=5 --slo=99:1ms
--slo=p100:1ms --slo=p99 hdr --alloc=jemaloc --records=1e999 --records=999Ti --warmup=5 --time=-1s
--time=1y --out=/dev/null/x --out=/proc/nowhere --frobnicate --frobnicate=1 stray --index --threads={1,1} --threads=nan
--records=nan --records={} --time= --time=nan --time=99999999999s --seed=18446744073709551616 --out=/sys --json=x
--rate= --rate=-1 --rate=1e99 --rate=nosuch:1M --rate=fixed: --rate=sine:1M,period=0 --rate=trace --rate=trace: --rate=trace:0 --rate=trace:-1 --rate=trace:x --rate=trace:1e99
--rate=trace:nan --rate=trace,x=1 --rate=trace:{1,2} --rate=-1M --rate=+1 --rate=.5 --slo= --slo=p99: --slo=p99:0 --slo=p0:1ms
--slo=p99:1 --slo=p99:1ms,p50:1ms --rows=0 --rows=x --rows=-1 --rows=999 --workload=phases
--workload=phases: --workload=phases:/no/such --workload=phases:/dev/zero --workload=phases:/etc/passwd --keys=trace --keys=trace:/no/such --keys=url:2Gi --dist=self-similar:1e-10
""".split()

# Command lines whose words are right by themselves, but not together; and wrong commands.
COMBINATIONS = [
    ["--time=1s", "--ops=5"],
    ["--index=art", "--index=art"],
    ["--threads=2", "--threads=2"],
    ["--seed=1", "--json", "--json"],
    ["@"],
    ["@/no/such"],
    ["--threads=1", "@/tmp"],
    ["@/dev/zero"],
    ["help", "lsit"],
    ["--workload=insert", "--dist=zipf:1"],
    ["--workload=insert", "--churn=flash:100"],
    ["--records=50", "--churn=flash:100"],
    ["--workload=mix:insert=100", "--negative=.5"],
    ["--workload=wiscer:high-churn", "--keys=u64"],
    ["--workload=wiscer:high-churn", "--records=10"],
    ["--workload=wiscer:high-churn", "--dist=uniform"],
    ["--workload=mix:read=50,update=50", "--batch=16:in-turn"],
    ["--dist=uniform", "--churn=drift:10"],
    ["rows"],
    ["rows", "/no/such"],
    ["rows", "a", "b"],
    ["--keys=u16", "--records=40000"],
    ["--value-size=64Ki", "--records=1G"],
    ["--sync=none", "--threads=2", "--workload=mix:update=100"],
    ["--sync=none", "--threads=2", "--workload=mix:modify=100"],
    ["--out=/proc/latchlab"],
    ["nosuch"],
    ["list", "nosuch"],
    ["list", "indexes", "policies"],
    ["doctor", "now"],
    ["ab"],
    ["ab", "--a=--sync=none"],
    ["ab", "--a=--index=art --sync=none", "--b=--index=chained --sync=none", "--rate=1M", "--latency=off"],
    ["ab", "--a=--index=art --sync=none", "--b=--index=chained --sync=none --rate=1M"],
    ["--slo=p99.9:50us", "--ops=100"],
    ["limits", "--mem=bind:999"],
    ["ab", "--a=--sync=none", "--b=--sync=nosuch"],
    ["ab", "--a=--sync=none", "--b='"],
    ["ab", "--a=", "--b="],
    ["ab", "--a=--sync=none", "--c=--sync=olc"],
    ["ab", "--a=--sync=none", "--b=--sync=olc", "--replicates=0"],
    ["ab", "--a=--threads={1,2}", "--b=--threads=1"],
    ["ab", "--z=--sync=none", "--b=--sync=none"],
    ["explain"],
    ["explain", "/no/such"],
    ["explain", "/etc/passwd"],
    ["explain", "a", "b", "c"],
    ["compare"],
    ["compare", "/no/such", "/no/such"],
    ["compare", "/etc/passwd", "/etc/passwd"],
    ["trace"],
    ["trace", "info"],
    ["trace", "info", "/no/such"],
    ["trace", "info", "/etc/passwd"],
    ["trace", "info", "a", "b"],
    ["trace", "convert", "twitter", "/etc/passwd"],
    ["trace", "convert", "twiter", "/etc/passwd", "/tmp/none"],
    ["trace", "convert", "twitter", "/etc/passwd", "/tmp/none"],
    ["trace", "convert", "meta-kv", "/etc/passwd", "/tmp/none"],
    ["trace", "convert", "twitter", "/no/such", "/tmp/none"],
    ["trace", "convert", "twitter", "/etc/passwd", "/etc/passwd"],
    ["trace", "convert", "twitter", "/etc/passwd", "/dev/null"],
    ["trace", "convert", "twitter", "/etc/passwd", "/tmp"],
    ["trace", "convert", "twitter", "/etc/passwd", "/no/such/folder/file"],
    ["trace", "replay", "x"],
    ["--slo=p99:1ms", "--workload=wiscer:high-churn", "--batch=16"],
    ["--churn=flash:1k", "--workload=ycsb-d"],
    ["--churn=drift:1k", "--dist=zipf:0.0"],
    ["--dist=hotspot:0.001", "--records=100"],
    ["--keys={stride:4Ki,stride:4096}"],
    ["--workload=wiscer:high-churn", "--keys={u64,dense}"],
    ["--index=tbb", "--sync=olc"],
    ["--batch=16:rolling", "--workload=mix:scan=100"],
    ["--batch=auto", "--index=tbb", "--sync=own"],
    ["--batch=auto", "--latency=all"],
    ["--batch=rolling"],
    ["--batch=16", "--index=tbb", "--sync=own"],
    ["--sync=olc", "--reclaim=never"],
    ["--sync=none", "--reclaim=leak"],
    ["--rate=1M", "--batch=16"],
    ["--rate=1M", "--slo=p99:1ms"],
    ["--rate=trace", "--slo=p99:1ms"],
    ["--rate=trace", "--workload=ycsb-a"],
    ["--rate=trace", "--workload=wiscer:high-churn"],
    ["--slo=p99:1ms", "--latency=off"],
    ["--slo=p99:1ms", "--workload=insert"],
    ["check"],
    ["check", "/nowhere"],
    ["check", "--foo"],
    ["check", "/tmp"],
    ["check", "/dev/null"],
    ["check", "a", "b"],
    ["hdr", "/nowhere.json"],
    ["hdr", "a", "b", "c"],
    ["explain", "/nowhere.json"],
    ["--alloc=tcmalloc", "--hugepages=thp"],
    ["list", "everything"],
    ["ab", "--a=--index=art"],
    ["ab", "--a=--index=art", "--b=--index=nope"],
    ["ab", "--a=--sync=none", "--b=--sync=olc", "--replicates=automatic"],
    ["compare", "/nowhere", "/nowhere"],
    ["compare", "/dev/null", "/dev/null"],
    ["limits", "--footprint=999Ti"],
    ["limits", "--pin=list:9999"],
    ["limits", "--sync=olc"],
    ["--sync=none", "--threads=2", "--workload=insert"],
    ["--index=tbb", "--sync=own", "--alloc=arena+touch"],
    ["--index=tbb", "--sync=own", "--hugepages=thp"],
    ["--index=tbb_unordered", "--sync=own", "--workload=mix:read=50,insert=25,erase=25"],
    ["--index=counters", "--sync=own"],
    ["--index=counters", "--sync=own", "--keys=dense", "--workload=mix:insert=50,erase=50"],
    ["--index=counters", "--sync=own", "--keys=dense", "--value-size=100"],
    ["--index=art_parts:0", "--sync=spin"],
    ["--sync=ffwd:3"],
    ["--sync=nr:0"],
    ["--sync=nr:17"],
    ["--sync=nr", "--keys=email"],
    ["--index=std_map", "--sync=olc"],
    ["--index=std_map", "--sync=none", "--alloc=malloc"],
    ["--alloc=malloc", "--hugepages=thp"],
    ["--threads={1, 2}"],
    ["--threads=1", "--threads=1"],
    ["--help", "run"],
    ["list", "--help", "indexes"],
    ["--out=/" + 300 * "x"],
    ["--json", "--json"],
    ["--index=art\n"],
    ["list", ""],
    ["limits", "--nosuch"],
    ["limits", "--footprint=x"],
    ["experiment", "nosuch"],
    ["experiment", "policies", "--fast"],
    ["export"],
    ["export", "/no/such"],
    ["export", "/no/such\n", "--series"],
    ["export", "/", "--format=xlsx"],
]

# The size of a sparse file: a reader that goes on through this terabyte of nothing runs out of memory.
SPARSE = 1 << 40

# Wrong files: the option that names each, and its content.
WISCER = "operationCount=9\n"
FILES = [
    ("--keys=file:", SPARSE),
    ("--keys=sosd:", SPARSE),
    ("--dist=histogram:", SPARSE),
    ("--workload=wiscer:", SPARSE),
    ("--workload=trace:", SPARSE),
    ("@", SPARSE),
    ("@", b"threads=2\n"),
    ("@", b"--threads=2\n--thraeds=2\n"),
    ("@", b"--threads=two\n"),
    ("@", b"--threads=1 --sync=none\n"),
    ("@", b"@other\n"),
    ("@", bytes(range(256)) * 50),
    ("--keys=file:", b""),
    ("--keys=file:", b"\n\r\n\n"),
    ("--keys=file:", b"x" * 70000),
    ("--keys=sosd:", b""),
    ("--keys=sosd:", b"1234567"),
    ("--keys=sosd:", struct.pack("<Q", 0)),
    ("--keys=sosd:", struct.pack("<QQ", 2, 7)),
    ("--keys=sosd:", struct.pack("<QQQ", 1, 7, 8)),
    ("--keys=sosd:", struct.pack("<QQ", 2**63, 7)),
    ("--keys=sosd:", struct.pack("<QQ", 1, 7) + b"x"),
    ("--dist=histogram:", b""),
    ("--dist=histogram:", b"# nothing\n\n"),
    ("--dist=histogram:", b"1\n"),
    ("--dist=histogram:", b"1 2 3\n"),
    ("--dist=histogram:", b"a b\n"),
    ("--dist=histogram:", b"1 1\n0 1\n"),
    ("--dist=histogram:", b"1 -1\n"),
    ("--dist=histogram:", b"1 nan\n"),
    ("--dist=histogram:", b"1 0\n"),
    ("--dist=histogram:", b"1e308 1\n1e308 1\n"),
    ("--dist=histogram:", b"\0\1\2\3 \xff\xfe\n"),
    ("--workload=trace:", b""),
    ("--workload=trace:", b"latchtrc"),
    ("--workload=trace:", b"\0" * 200),
    ("--workload=trace:", b"latchtrc" + struct.pack("<II6Q", 1, 0, 0, 0, 0, 0, 0, 0)),
    ("--workload=trace:", b"latchtrc" + struct.pack("<II6Q", 2, 0, 1, 1, 0, 1, 0, 0)),
    ("--workload=trace:", b"latchtrc" + struct.pack("<II6Q", 1, 0, 2**60, 2**60, 0, 2**60, 0, 0)),
    ("--workload=trace:", b"latchtrc" + struct.pack("<II6Q", 1, 0, 1, 1, 0, 1, 0, 0) + b"\1" + b"\0" * 31),
    ("--workload=wiscer:", b""),
    ("--workload=wiscer:", b"zipf=1\n"),
    ("--workload=wiscer:", b"\0" * 100),
    ("--workload=wiscer:", bytes(range(256)) * 50),
    ("--workload=wiscer:", b"x" * (17 << 20)),
    *(("--workload=phases:", text.encode()) for text in (
        "", "# nothing\n", "a\n", "a 1k\n", "a 1k lookup uniform none more\n", "a many lookup\n", "a 0 lookup\n", "a 99T lookup\n",
        "a 1k insert\n", "a 1k lokup\n", "a 1k wiscer:high-churn\n", "a 1k trace:x\n", "a 1k phases:x\n", "a 1k mix:read=90\n",
        "a 1k lookup\na 1k lookup\n", "a 1k lookup zipf\n", "a 1k lookup zipf:1 drift\n", "a 1k lookup uniform drift:10\n",
        "a 1k ycsb-d latest flash:10\n", "a 1k mix:insert=100 zipf:1\n", "a 1G mix:erase=100\n", "a 1k lookup histogram:/no/such\n")),
    ("--workload=phases:", SPARSE),
    ("--workload=phases:", bytes(range(256)) * 50),
    *(("--workload=wiscer:", (WISCER + line + "\n").encode()) for line in (
        "zipf", "zipf=", "zipf=x", "zipf=-1", "zipf=nan", "zipf=1\nzipf=1", "zpif=1", "initialSize=-1", "initialSize=1e6",
        "initialSize=999999999999999", "operationCount=1", "fetchProportion=.5", "fetchProportion=2", "insertProportion=.1",
        "deleteProportion=-1", "distShiftFreq=0", "distShiftFreq=x", "distShiftPrct=10", "distShiftPrct=1000", "keyPattern=x",
        "keyOrder=x", "keyorder=random\nkeyOrder=random", "storageEngine=x", "=1", "initialSize=99999999999",
        "fetchProportion=.9999999\ninsertProportion=1e-7")),
]

# Commands that read a binary file, and the end of their message, behind the bytes that it quotes.
BINARY = b"\0\1\x1b[2J\xff\xc3(" * 9
NO_TEXT = [
    (["--workload=wiscer:{}"], "' is not key=value"),
    (["--workload=phases:{}"], "' needs a name, a number of operations and a workload, then a distribution and churn if need be"),
    (["--sync=olc", "--dist=histogram:{}"], "' needs two shares, of the records and of the operations"),
    (["trace", "convert", "twitter", "{}", "{}.trace"],
     ": line 1: needs seven fields: time, key, key size, value size, client, operation, time to live"),
    (["trace", "convert", "meta-kv", "{}", "{}.trace"],
     ": line 1: names no columns key and op, as in key,op,size,op_count,key_size"),
]

# Malformed results with rows.
RESULTS = [b'{"throughput": {}, "sync": {}' + rows + b"}" for rows in (
    b"", b', "rows": null', b', "rows": 7', b', "rows": {}', b', "rows": [7]', b', "rows": [{}]', b', "rows": [{"operations": 3}]',
    b', "rows": [{"operations": "3", "seconds": 1}]', b', "rows": [{"operations": 3, "seconds": 0}]')]

# Wrong traces: formats and contents.
META = b"key,op,op_count\n"
LINES = b"1,k,1,1,1,get,0\n" * 1000
CONVERTED = [
    ("twitter", SPARSE),
    ("meta-kv", SPARSE),
    ("twitter", b""),
    ("twitter", b"\n\n"),
    ("twitter", b"time,key,key_size,value_size,client,op,ttl\n1,k,1,1,1,get,0\n"),
    ("twitter", b",,,,,,\n"),
    ("twitter", b"1,k,1,1,1,get\n"),
    ("twitter", b"1,k,1,1,1,get,0\n0,k,1,1,1,get,0\n"),
    ("twitter", b"1,k,1,1,1," + b"f" * 100_000 + b",0\n"),
    ("twitter", b"1,k,1,x,1,get,0\n"),
    ("twitter", b"1," + b"k" * 70_000 + b",1,1,1,get,0\n"),
    ("twitter", b"1," + b"k" * 2_000_000 + b",1,1,1,get,0\n"),
    ("twitter", bytes(range(256)) * 10),
    ("meta-kv", b""),
    ("meta-kv", b"key\n"),
    ("meta-kv", META),
    ("meta-kv", META + b"k,GET\n"),
    ("meta-kv", META + b"k,get,1\n"),
    ("meta-kv", META + b"k,GET,-1\n"),
    ("meta-kv", META + b"k,GET,1000001\n"),
    ("meta-kv", META + b",GET,1\n"),
    ("twitter", gzip.compress(LINES)[:-1]),
    ("twitter", gzip.compress(LINES)[:20]),
    ("twitter", gzip.compress(LINES)[:-8] + b"12345678"),
    ("twitter", gzip.compress(LINES) + LINES),
    ("twitter", gzip.compress(b"no line of it\n")),
    ("twitter", as_zstd(LINES)[:-1]),
    ("twitter", as_zstd(LINES)[:4]),
    ("twitter", as_zstd(LINES)[:-len(LINES) - 1] + b"\xff" + LINES),
    ("twitter", as_zstd(LINES) + LINES),
    ("twitter", as_zstd(b"no line of it\n")),
]


class WrongInput(unittest.TestCase):
    def refuse(self, arguments):
        """Runs the harness and returns what is wrong with its refusal, or None."""
        done = subprocess.run([HARNESS, *arguments], capture_output=True, timeout=120, check=False, stdin=subprocess.DEVNULL)
        said = done.stderr.decode(errors="replace")
        one_line = said.startswith("harness: ") and said.endswith("\n") and said[:-1].isprintable() and len(said) > 20
        if done.returncode == 2 and one_line and not done.stdout:
            return None
        return f"{arguments}: exit status {done.returncode}, {len(done.stdout)} bytes on stdout, on stderr {said!r}"

    def written(self, folder, name, content):
        path = pathlib.Path(folder) / name
        if content == SPARSE:
            path.touch()
            os.truncate(path, SPARSE)
        else:
            path.write_bytes(content)
        return path

    def test_each_is_one_line_and_exit_status_2(self):
        with tempfile.TemporaryDirectory() as folder:
            cases = [[option] for option in OPTIONS] + COMBINATIONS
            for number, (option, content) in enumerate(FILES):
                cases.append([option + str(self.written(folder, f"wrong-{number}", content))])
            for number, content in enumerate(RESULTS):
                cases.append(["rows", str(self.written(folder, f"result-{number}", content))])
            for number, (form, content) in enumerate(CONVERTED):
                path = self.written(folder, f"recorded-{number}", content)
                cases.append(["trace", "convert", form, str(path), f"{path}.trace"])
            files = sorted(os.listdir(folder))
            self.assertGreaterEqual(len(cases), 400)
            with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
                faults = [fault for fault in pool.map(self.refuse, cases) if fault]
            self.assertEqual(sorted(os.listdir(folder)), files)   # no trace was written, not even in part
        self.assertEqual(faults, [], "\n" + "\n".join(faults))

    def test_a_message_quotes_binary_bytes_and_goes_on(self):
        with tempfile.TemporaryDirectory() as folder:
            path = self.written(folder, "binary", BINARY)
            for arguments, end in NO_TEXT:
                with self.subTest(arguments=arguments):
                    arguments = [argument.format(path) for argument in arguments]
                    done = subprocess.run([HARNESS, *arguments], capture_output=True, timeout=120, check=False)
                    said = done.stderr.decode()   # strict, since the message must escape bytes that are no characters
                    self.assertEqual(done.returncode, 2)
                    self.assertTrue(said.endswith(end + "\n"), said)
                    self.assertTrue(said[:-1].isprintable(), said)


if __name__ == "__main__":
    unittest.main()
