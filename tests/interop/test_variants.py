"""VARIANT values against Paimon's own class: JSON in and out, damaged values, and shredded files, which we refuse."""

import base64
import json
import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from braid.lake import CorruptData, UnsupportedFeature, json_of_variants
from braid.lake.format.variant.from_json import NotVariant, variant_of_json
from braid.lake.format.variant.to_json import json_of_variant
from tests.interop.generators import json_text
from tests.interop.java_driver import JavaDriver
from tests.interop.ours import open_table

pytestmark = pytest.mark.interop

EDGES = (
    *("1", '"x"', "null", "true", "[]", "{}", " [1] ", '"\\ud800x"', '{"\\ud800":1,"?":2}', '"\\u0000\\u001f\\t/\\/"'),
    *('"' + "é" * 31 + '"', '"' + "é" * 32 + '"', '"' + "x" * 70_000 + '"'),
    json.dumps(list(range(255))), json.dumps(list(range(256))), json.dumps({f"k{n}": n for n in range(300)}),
    json.dumps(["x" * 90] * 200), json.dumps({f"name {n}" * 9: {"a": n} for n in range(1000)}),
    "[" * 500 + "]" * 500, "1" * 5000, "1." + "0" * 38,
)  # fmt: skip
REFUSED = (
    "", " ", "01", "+1", "NaN", "-Infinity", "1.", ".5", "1x", "'a'", "[1,]", '{"a":1,}', '"\t"', "tru", "-",
    '{"a":1,"a":2}', '{"b":{"a":1,"b":2,"a":3}}', "[1 2]", '{"a" 1}', "/* c */1", "\ufeff1",
)  # fmt: skip


def encoded(texts: Sequence[str]) -> list[list[str]]:
    """Return our values of JSON texts, in base64."""
    values = [variant_of_json(text) for text in texts]
    return [[base64.b64encode(part).decode() for part in value] for value in values]


def test_json_becomes_the_bytes_that_java_makes_of_it_and_json_again(java: JavaDriver) -> None:
    chance = random.Random(86)
    texts = [*EDGES, *(json_text(chance, depth=4) for _ in range(3000))]

    answers = java.do("variants", "", texts=texts)

    assert encoded(texts) == [answer[:2] for answer in answers]
    ours = [json_of_variant(*variant_of_json(text)) for text in texts]
    differing = [
        (one, other[2]) for one, other in zip(ours, answers, strict=True) if one != other[2]
    ]
    # Before JDK 19, Java writes too many digits of a few doubles.
    assert [json.loads(one) for one, _ in differing] == [
        json.loads(other) for _, other in differing
    ]
    assert len(differing) < len(texts) / 100


def test_java_refuses_the_json_that_we_refuse(java: JavaDriver) -> None:
    answers = java.do("variants", "", texts=REFUSED)

    assert [
        text for text, answer in zip(REFUSED, answers, strict=True) if "error" not in answer
    ] == []
    for text in REFUSED:
        with pytest.raises(NotVariant):
            variant_of_json(text)


def test_values_that_json_does_not_have_are_written_as_java_writes_them(java: JavaDriver) -> None:
    values = [bytes.fromhex(value) for value in SCALARS]
    metadata = base64.b64encode(bytes((1, 0, 0))).decode()

    answers = java.do(
        "variants", "", values=[[base64.b64encode(value).decode(), metadata] for value in values]
    )

    assert [json_of_variant(value, bytes((1, 0, 0))) for value in values] == answers


SCALARS = (
    "2c00000000", "2cffffffff", "2c3a0b0000", "2cdb6dffff", "2cffffff7f", "2c00000080",  # dates
    "300000000000000000", "30ffffffffffffffff", "3000f2e1d5b40e0400", "30ffffffffffffff7f",  # instants
    "340000000000000000", "3440420f0000000000", "34a086010000000000", "340000000000000080",  # timestamps
    "380000803f", "38cdcccc3d", "380000c07f", "3800007f7f", "38000080ff",  # floats
    "1c000000000000f8ff", "1c9a9999999999b93f", "1c00000000000000c0",  # doubles
    "3c00000000", "3c0300000001ff00", "50f24f9b64820d4a2a8bd1c5a1a9d0e3f7",  # bytes, UUIDs
    "240a0100000000000000", "200901000000", "2812ffffffffffffffffffffffffffffffff", "24020a00000000000000",  # decimals
)  # fmt: skip


def test_files_with_shredded_values_are_refused_and_others_are_read(
    java: JavaDriver, tmp_path: Path
) -> None:
    typed = {"type": "ROW", "fields": [{"id": 0, "name": "a", "type": "BIGINT"}]}
    shredded = {"type": "ROW", "fields": [{"id": 0, "name": "v", "type": typed}]}
    path = tmp_path / "d.db" / "t"
    case = {
        "schema": {
            "columns": [{"name": "k", "type": "INT NOT NULL"}, {"name": "v", "type": "VARIANT"}],
            "primary_key": ["k"],
        },
        "options": {"bucket": "1", "write-only": "true"},
    }
    rows = [["+I", n, value] for n, value in enumerate(encoded(['{"a":1,"b":"x"}', "[1]"]))]
    java.do("create", path, case=case)
    java.write(path, rows)
    table = open_table(path)
    assert json_of_variants(table.scan().to_arrow().sort_by("k").column("v")).to_pylist() == [
        '{"a":1,"b":"x"}',
        "[1]",
    ]

    java.write(path, rows, options={"parquet.variant.shreddingSchema": json.dumps(shredded)})

    with pytest.raises(UnsupportedFeature, match="shredded"):
        open_table(path).scan().to_arrow()


def test_what_we_read_of_damaged_values_java_reads_as_the_same(java: JavaDriver) -> None:
    chance = random.Random(19)
    whole = [variant_of_json(json_text(chance)) for _ in range(1500)]
    damaged = []
    for value, metadata in whole:
        broken = [bytearray(value), bytearray(metadata)]
        part = broken[chance.random() < 0.3]
        part[chance.randrange(len(part))] = chance.randrange(256)
        if chance.random() < 0.2:
            del part[chance.randrange(len(part)) :]
        damaged.append((bytes(broken[0]), bytes(broken[1])))

    answers = java.do(
        "variants",
        "",
        values=[[base64.b64encode(part).decode() for part in value] for value in damaged],
    )

    read = 0
    for parts, answer in zip(damaged, answers, strict=True):
        try:
            ours = json_of_variant(*parts)
        except (CorruptData, UnsupportedFeature):
            continue
        read += 1
        assert ours == answer or json.loads(ours) == json.loads(answer)
    assert read > 100
