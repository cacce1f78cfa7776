"""Runner of the benchmarks: prints the machine and the figures of each benchmark (`python -m benchmarks [NAME…]`)."""

import argparse
import importlib
import pkgutil

import benchmarks
from benchmarks.figure import figure_line
from benchmarks.machine import machine


def main() -> None:
    """Run the benchmarks named, or all."""
    names = _benchmark_names()
    parser = argparse.ArgumentParser(prog="python -m benchmarks")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(names))
    chosen = parser.parse_args().names or names
    unknown = sorted(set(chosen) - set(names))
    if unknown:
        parser.error(f"no benchmark {', '.join(unknown)}; there are {', '.join(names)}")
    print(machine())
    for name in chosen:
        print(f"\n{name}", flush=True)
        for figure in importlib.import_module(f"benchmarks.{name}").run():
            print(figure_line(figure), flush=True)


def _benchmark_names() -> list[str]:
    """Return the modules of this folder that have a `run`, in alphabetical order."""
    found = (module.name for module in pkgutil.iter_modules(benchmarks.__path__))
    return sorted(
        name
        for name in found
        if name != "__main__" and hasattr(importlib.import_module(f"benchmarks.{name}"), "run")
    )


if __name__ == "__main__":
    main()
