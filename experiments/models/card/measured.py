"""What this machine's own indexes and servers did: documents of a folder of results, beside a workload of the model."""
import math
import pathlib
from dataclasses import dataclass

import export
from input_error import InputError

COUNTED = ("ok", "noisy", "degraded")   # statuses with a throughput that was measured


@dataclass(frozen=True)
class Measured:
    """The fastest run of an index, a policy and a number of threads."""

    what: str          # index and policy
    threads: int
    rate: float        # operations a second
    through: bool      # a server did it, so the network is in the rate
    status: str
    same: bool         # it had the same workload
    differs: str       # what differs


def differences(config, workload):
    """Returns what a run had otherwise than the workload, in words."""
    out = []
    wanted = {"workload": workload.workload, "dist": workload.dist, "value_size": workload.value_bytes,
              "records": workload.records if workload.is_given else None}
    for key, want in wanted.items():
        has = config.get(key)
        if has is not None and want is not None and str(has) != str(want):
            out.append(f"{key.replace('_', '-')}={has}")
    return out


def measured_in(document, workload):
    """Returns the run of a document, or None if it has no throughput that was measured."""
    if document["status"] not in COUNTED or not document["throughput"]:
        return None
    config, rate = document["config"], document["throughput"]["per_second"]
    if not rate or not math.isfinite(rate):
        return None
    differs = differences(config, workload)
    address = (config.get("index_options") or {}).get("addr", "")
    what = f"{config['index']}{':addr=' if address else ''}{address} {config['sync']}"
    return Measured(what, config["threads"], rate, config["index"] == "remote", document["status"], not differs, ", ".join(differs))


def read(folder, workload):
    """Returns the fastest run of each index, policy and number of threads, the fastest first. Raises InputError."""
    path = pathlib.Path(folder)
    if not path.exists():
        raise InputError(f"--beside={folder}: there is no such folder or file")
    best = {}
    for place, document in export.read(path):
        try:
            run = measured_in(document, workload)
        except (AttributeError, KeyError, TypeError):
            raise InputError(f"{place}: a result that is not as harness/result/result.schema.json says") from None
        if run is None:
            continue
        key = (run.what, run.threads, run.differs)
        if key not in best or best[key].rate < run.rate:
            best[key] = run
    if not best:
        raise InputError(f"--beside={folder}: has no result with a throughput that was measured")
    return sorted(best.values(), key=lambda run: (not run.same, -run.rate))
