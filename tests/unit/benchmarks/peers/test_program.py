"""The command line of the benchmark beside peers."""

from benchmarks.peers.__main__ import PARTS, parse, sizes_of
from benchmarks.peers.wide_rows import SIDES, WideSizes


def test_without_options_everything_is_measured_with_the_usual_sizes() -> None:
    chosen = parse([])

    assert tuple(chosen.parts) == PARTS
    assert tuple(chosen.sides) == SIDES
    assert sizes_of(chosen) == WideSizes()


def test_sizes_are_ascending() -> None:
    assert sizes_of(parse(["--keys", "500", "100", "500"])).keys == (100, 500)
