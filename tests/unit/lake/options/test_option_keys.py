"""Misspelt option keys, and the known key that each of them means."""

import re
from pathlib import Path

import pytest

from braid import lake
from braid.lake.declaration.engine_declarations import ENGINES
from braid.lake.options.option_keys import OPTION_KEYS, OWN_KEYS, similar_option_key
from braid.lake.options.table_options import OPTIONS


def test_every_option_that_this_engine_declares_is_known() -> None:
    keys = [key for option in OPTIONS.values() for key in option.keys]

    assert len(keys) == len(set(keys)), "no key belongs to two options"
    assert OPTION_KEYS.issuperset(keys)
    assert {"sequence.field", "write.compaction-skip", "braid.null-deletes"} <= OWN_KEYS


def test_every_option_that_the_engines_declare_is_known() -> None:
    declared = {option.key for engine in ENGINES.values() for option in engine.options}

    assert {key for key in declared if "<" not in key} - OPTION_KEYS == set()


def test_every_option_that_the_source_reads_by_name_is_known() -> None:
    asked = re.compile(r"""options(?:\.get\(|\[)\s*"([a-z0-9.-]+)\"""")
    folder = Path(lake.__file__).parent
    found = {key for path in folder.rglob("*.py") for key in asked.findall(path.read_text())}

    assert "chain-table.enabled" in found
    assert found - OPTION_KEYS == set()


def test_a_known_key_resembles_no_other() -> None:
    assert {similar_option_key(key) for key in OPTION_KEYS} == {None}


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("ignor-delete", "ignore-delete"),
        ("ignoreDelete", "ignore-delete"),
        ("sequence.fields", "sequence.field"),
        ("sequence-field", "sequence.field"),
        ("rowkind-field", "rowkind.field"),
        ("changelog.producer", "changelog-producer"),
        ("target.file.size", "target-file-size"),
        ("buckets", "bucket"),
        ("file-index.in-manifest-treshold", "file-index.in-manifest-threshold"),
    ],
)
def test_a_misspelt_key_resembles_the_known_one(key: str, meant: str) -> None:
    assert similar_option_key(key) == meant


@pytest.mark.parametrize(
    "key",
    ["owner", "team", "acme.retention", "delta.appendOnly", "parquet.page.size", "x", "", "."],
)
def test_a_foreign_key_resembles_none(key: str) -> None:
    assert similar_option_key(key) is None
