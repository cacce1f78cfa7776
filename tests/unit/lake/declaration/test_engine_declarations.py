"""Declarations of the engines agree with validation and options."""

import pytest

from braid.lake.declaration.engine_declarations import ENGINES, why_excluded
from braid.lake.declaration.validation import validate_schema
from braid.lake.errors import InvalidRequest
from braid.lake.options.table_options import MergeEngine, TableOptions
from tests.unit.lake.merge.given_schemas import given_schema

COLUMNS = "k INT, g INT, v INT"
GROUP = {"fields.g.sequence-group": "v"}
# For each conflict that is declared, options that have it.
EXAMPLES = {
    ("partial-update", "partial-update.remove-record-on-delete", "ignore-delete"): {
        "partial-update.remove-record-on-delete": "true",
        "ignore-delete": "true",
    },
    ("partial-update", "partial-update.remove-record-on-sequence-group", "ignore-delete"): {
        **GROUP,
        "partial-update.remove-record-on-sequence-group": "g",
        "partial-update.ignore-delete": "true",
    },
    ("partial-update", "partial-update.remove-record-on-delete", "sequence groups"): {
        **GROUP,
        "partial-update.remove-record-on-delete": "true",
    },
    (
        "partial-update",
        "an aggregate function other than last_non_null_value",
        "a column that no sequence group protects",
    ): {"fields.v.aggregate-function": "max"},
    (
        "partial-update",
        "fields.<column>.ignore-retract",
        "aggregation.remove-record-on-delete",
    ): {
        **GROUP,
        "fields.v.aggregate-function": "max",
        "fields.v.ignore-retract": "true",
        "aggregation.remove-record-on-delete": "true",
    },
    ("aggregation", "fields.<column>.ignore-retract", "aggregation.remove-record-on-delete"): {
        "fields.v.ignore-retract": "true",
        "aggregation.remove-record-on-delete": "true",
    },
    ("aggregation", "fields.<column>.aggregate-function", "sequence.field naming the column"): {
        "sequence.field": "v",
        "fields.v.aggregate-function": "max",
    },
    **{
        (engine, "sequence.snapshot-ordering", "sequence.field"): {
            "sequence.snapshot-ordering": "true",
            "write-only": "true",
            "sequence.field": "g",
        }
        for engine in ("deduplicate", "partial-update", "aggregation")
    },
    ("first-row", "sequence.field", "merge-engine = first-row"): {"sequence.field": "g"},
    ("first-row", "changelog-producer", "merge-engine = first-row"): {
        "changelog-producer": "input"
    },
    ("first-row", "deletion-vectors.enabled", "merge-engine = first-row"): {
        "deletion-vectors.enabled": "true"
    },
}
DECLARED = [
    (declaration.engine.value, conflict.option, conflict.excludes)
    for declaration in ENGINES.values()
    for conflict in declaration.conflicts
]


def test_every_engine_is_declared() -> None:
    assert list(ENGINES) == [declaration.engine for declaration in ENGINES.values()]
    assert set(ENGINES) == set(MergeEngine)


@pytest.mark.parametrize(("engine", "option", "excludes"), DECLARED, ids=str)
def test_every_declared_conflict_is_refused_and_said_why(
    engine: str, option: str, excludes: str
) -> None:
    options = {"merge-engine": engine, **EXAMPLES[engine, option, excludes]}

    with pytest.raises(InvalidRequest):
        validate_schema(given_schema(COLUMNS, options=options))

    assert why_excluded(MergeEngine(engine), option, excludes)


def test_every_example_is_of_a_declared_conflict() -> None:
    assert set(EXAMPLES) == set(DECLARED)


@pytest.mark.parametrize("engine", MergeEngine)
def test_every_row_kind_has_its_effect(engine: MergeEngine) -> None:
    kinds = {kind for effect in ENGINES[engine].effects for kind in effect.kinds.split()}

    assert kinds == {"+I", "-U", "+U", "-D"}


@pytest.mark.parametrize("engine", MergeEngine)
def test_every_option_has_the_default_that_the_options_have(engine: MergeEngine) -> None:
    parsed = TableOptions()
    flags = {
        option.key: option.default == "true"
        for option in ENGINES[engine].options
        if option.type == "true or false" and not option.key.startswith("fields.")
    }

    found = {key: getattr(parsed, key.replace("-", "_").replace(".", "_")) for key in flags}
    assert found == flags
