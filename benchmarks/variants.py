"""Benchmark of VARIANT values: time per value on one thread, of a JSON text of 200 bytes with eight fields."""

import time
from typing import Any

import pyarrow as pa

from benchmarks.figure import best_s, figure
from braid.lake import json_of_variants, variants_of_json

VALUES = 20_000
REPEATS = 5


def run() -> list[dict[str, Any]]:
    """Return the figures, in nanoseconds of processor time.

    Returns:
        Dicts of name, value, unit and aim (None: measured, not aimed at).
    """
    texts = pa.array([_text(number) for number in range(VALUES)])
    values = variants_of_json(texts)
    mean = len("".join(texts.to_pylist()).encode()) / VALUES
    return [
        figure(
            f"{name}, {mean:.0f} bytes of JSON",
            best_s(work, repeats=REPEATS, clock=time.process_time) / VALUES * 1e9,
            "ns",
        )
        for name, work in (
            ("JSON to VARIANT", lambda: variants_of_json(texts)),
            ("VARIANT to JSON", lambda: json_of_variants(values)),
        )
    ]


def _text(number: int) -> str:
    return (
        f'{{"id":{number},"name":"Ada Lovelace","tags":["a","bb","ccc"],"price":{number / 8},'
        f'"address":{{"street":"Main {number % 100}","city":"Zurich","zip":8001,"geo":[47.3769,8.5417]}},'
        f'"active":true,"note":null,"at":"2026-01-01T00:00:00Z"}}'
    )
