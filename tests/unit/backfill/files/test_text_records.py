"""Text files are cut into records that are the file again when they are joined."""

import io
import random
from typing import Any

import numpy as np
import pytest

from braid.backfill.files import text_records
from braid.backfill.files.text_records import csv_records, line_records


@pytest.mark.parametrize("block_bytes", [1, 2, 7, 1 << 20])
def test_lines_do_not_depend_on_the_blocks_of_the_file(
    block_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_records, "_BLOCK_BYTES", block_bytes)
    text = b'\xef\xbb\xbf{"a": 1}\r\n\n{"b": 2}\nlast'

    found = list(line_records(io.BytesIO(text), record_bytes_max=100))

    assert [one for part in found for one in part.texts.to_pylist()] == [
        b'{"a": 1}\r\n',
        b"\n",
        b'{"b": 2}\n',
        b"last",
    ]
    assert [part.first for part in found] == [
        sum(len(before.texts) for before in found[:place]) for place in range(len(found))
    ]


def test_a_line_break_between_quotes_does_not_end_a_record() -> None:
    text = b'a,b\n1,"x\ny"\n2,"say ""no""\n"\n3,z'

    found = list(csv_records(io.BytesIO(text), quote='"', record_bytes_max=100))

    assert [one for part in found for one in part.texts.to_pylist()] == [
        b"a,b\n",
        b'1,"x\ny"\n',
        b'2,"say ""no""\n"\n',
        b"3,z",
    ]


def test_a_quote_that_nothing_closes_takes_in_no_more_than_the_bound() -> None:
    lines = [b"a,b\n", b'1,"x\n', *(b"%d,y\n" % number for number in range(2, 60))]

    found = list(csv_records(io.BytesIO(b"".join(lines)), quote='"', record_bytes_max=50))

    assert [one for part in found for one in part.texts.to_pylist()] == lines


@pytest.mark.parametrize("seed", range(20))
def test_records_are_the_file_again_and_none_is_longer_than_the_bound(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(seed)
    monkeypatch.setattr(text_records, "_BLOCK_BYTES", chance.randint(1, 40))
    text = bytes(chance.choices(b'ab",\n\n', k=chance.randint(0, 300)))
    bound = chance.randint(1, 30)

    found = list(csv_records(io.BytesIO(text), quote='"', record_bytes_max=bound))

    records = [one for part in found for one in part.texts.to_pylist()]
    assert b"".join(records) == text
    assert all(0 < len(one) <= bound for one in records)


@pytest.mark.parametrize("line", [b"x" * 40, b'"x\n', b'"' + b"x" * 39 + b"\n"])
def test_records_that_are_cut_do_not_make_the_whole_block_be_searched_again(
    line: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    searched = 0
    find = np.flatnonzero

    def counted(values: Any) -> Any:
        nonlocal searched
        searched += len(values)
        return find(values)

    text = line * 500
    monkeypatch.setattr(np, "flatnonzero", counted)
    found = list(csv_records(io.BytesIO(text), quote='"', record_bytes_max=20))

    records = [one for part in found for one in part.texts.to_pylist()]
    assert b"".join(records) == text
    assert searched < 10 * len(text)


def test_a_record_that_is_longer_than_a_block_is_searched_a_few_times(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(text_records, "_BLOCK_BYTES", 8)
    searched = 0
    find = np.flatnonzero

    def counted(values: Any) -> Any:
        nonlocal searched
        searched += len(values)
        return find(values)

    text = b"x" * 10_000 + b"\n"
    monkeypatch.setattr(np, "flatnonzero", counted)
    found = list(line_records(io.BytesIO(text), record_bytes_max=20_000))

    assert [one for part in found for one in part.texts.to_pylist()] == [text]
    assert searched < 10 * len(text)
