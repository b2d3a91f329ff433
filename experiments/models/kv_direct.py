"""KV-Direct on paper: a key-value store in programmable network cards, by a simulator of discrete events and by closed forms.

    ./bench model kv-direct [--out=FOLDER]
    ./bench model kv-direct --device=NAME[:KEY=VALUE,...] [--workload=WORDS] [--dist=WORDS] [--value-size=BYTES] [--records=N]
                            [--beside=RESULTS]

The first redraws what KV-Direct (SOSP 2017, and its talk) published: accesses, GETs and PUTs by size, the reservation station, load
dispatch, batching, vectors, the host beside a busy card, ten cards. Each row has the published number, the closed form, the simulated one
(the mean of two seeds), the difference, and what limits it. A row that differs has a reason, or says that none is known. The source of each
input stands below. FOLDER, by default experiments/results/model-kv-direct, gets figure.svg, .png and .pdf.

The second asks whether a card would pay for a workload: what each limit allows, what comes out, and how many cores do as much.

    device        kv-direct, pcie4 (100 Gb/s), pcie5 (400 Gb/s), bluefield-3, cxl; models/card/presets.toml has a source for each value. KEY
                  is a value of the card: pcie5:clock_hz=400e6,network_bytes_s=25e9
    workload      lookup, mix:read=90,update=10, ycsb-a, -b, -c, -d or -f, or trace:FILE, as the harness has them, but for scans (lookup)
    dist          uniform or zipf:Q (what the workload brings along)
    value-size    bytes, up to 64Ki; a key has 8 (8)
    records       keys (as many as fill half of the card's store)
    RESULTS       results of the harness, as --out keeps them: the card stands beside the fastest index and the fastest server
                  (--index=remote) of this machine

Exit status: 0, also if rows differ; 2 for wrong input; 130 after an interruption.
"""
import multiprocessing
import pathlib
import signal
import sys

from input_error import InputError
from models import charts, systems

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "results/model-kv-direct"
SEEDS = (1, 2)
OF_A_DEVICE = ("workload", "dist", "value-size", "records", "beside")


def parse(arguments):
    """Returns the options by their names. Raises InputError."""
    options = {}
    known = ("out", "device", *OF_A_DEVICE)
    for argument in arguments:
        name, equals, text = argument.removeprefix("--").partition("=")
        if not argument.startswith("--") or name not in known:
            raise InputError(f"there is no '{argument}' here; there are {', '.join(f'--{of}' for of in known)}")
        if not equals or not text:
            raise InputError(f"--{name} needs a value: --{name}=...")
        if name in options:
            raise InputError(f"--{name} is given twice")
        options[name] = text
    if "device" not in options:
        for name in OF_A_DEVICE:
            if name in options:
                raise InputError(f"--{name} says something about a card: name it with --device=NAME")
    elif "out" in options:
        raise InputError("--out is for the figure of what was published; --device prints text alone")
    return options


def end_quietly():
    """Has a process of the pool leave interruptions to its parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def redraw(folder):
    """Prints the report, and draws the figure."""
    from models.card import picture, report, rows   # numpy takes a while
    published, notes = report.read_published()
    with multiprocessing.Pool(len(SEEDS), end_quietly) as pool:   # an interruption ends them at once
        runs = pool.map(rows.numbers, SEEDS)
    numbers = rows.mean_of(runs)
    worst = [rows.apart(runs, pauses) for pauses in (False, True)]
    gap = max((abs(number.simulated / number.closed - 1), name) for name, number in numbers.items() if number.closed and number.simulated)
    lines = [*report.table(published, notes, numbers), *report.latencies(numbers), "", *systems.quoted(), *report.inputs(),
             *report.summary(published, numbers, worst, gap)]
    print("\n".join(lines))
    try:
        print(picture.save(numbers, published, folder, SEEDS))
    except ImportError:
        print("model: no figure is drawn, since the modules that draw are not installed", file=sys.stderr)
    except OSError as error:
        raise InputError(f"--out={folder}: {error.strerror}") from None


def main(arguments):
    options = parse(arguments)
    if "device" not in options:
        redraw(charts.made_folder(options.get("out"), FOLDER))
        return 0
    from models.card import devices, what_if, workload
    device, asked = devices.device_of(options["device"]), workload.workload_of(options)
    print("\n".join(what_if.report(device, asked, options.get("beside"))))
    return 0
