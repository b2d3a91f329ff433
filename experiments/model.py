"""Derives published results that need hardware nobody can borrow; `./bench model` runs it.

    ./bench model NAME [ARGS...]      draws the results of NAME anew from first principles, beside what was published
    ./bench model NAME --help         its arguments, its output, and how far it is to be trusted

    kv-direct    KV-Direct (SOSP 2017): a key-value store in programmable network cards, and what such a card would do today
    systems      the systems that KV-Direct was compared with, beside results of this machine
    servers      servers with little DRAM, with slower memory besides, and with much DRAM: throughput, power and cost

A model measures nothing and needs no harness. It prints where each input is from, and the reason where it differs from what was published.

Exit status: that of the model; 2 for wrong input; 130 after an interruption.
"""
from input_error import InputError, end_when_interrupted, run_script

if __name__ == "__main__":
    end_when_interrupted("model")   # before the imports of a model
import importlib
import sys

NAMES = ("kv-direct", "systems", "servers")   # each is a module of models/ with main(arguments) and its help as docstring


def module_of(name):
    """Imports the module of a model."""
    return importlib.import_module(f"models.{name.replace('-', '_')}")


def main(*arguments):
    """Runs a model, and returns its exit status."""
    if not arguments or arguments[0] in ("--help", "-h"):
        print(__doc__.strip())
        return 0
    name, rest = arguments[0], list(arguments[1:])
    if name not in NAMES:
        raise InputError(f"there is no model '{name}'; there are {', '.join(NAMES)}")
    module = module_of(name)
    if rest and rest[-1] in ("--help", "-h"):
        print(module.__doc__.strip())
        return 0
    return module.main(rest) or 0


if __name__ == "__main__":
    run_script("model", main, *sys.argv[1:])
