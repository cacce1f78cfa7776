from dataclasses import replace

import pytest

from braid.lake.errors import UnsupportedFeature
from braid.lake.merge.spec import (
    ColumnFunction,
    MergeSpec,
    SequenceGroup,
    columns_needed,
    merge_spec,
)
from braid.lake.options.table_options import MergeEngine
from tests.unit.lake.merge.given_schemas import given_schema

COLUMNS = "k INT NOT NULL, d INT NOT NULL, g INT, h INT, a INT, b INT, s INT"


def test_a_spec_holds_what_the_schema_declares() -> None:
    schema = given_schema(
        COLUMNS,
        key="k d",
        partition="d",
        options={
            "merge-engine": "partial-update",
            "fields.g,h.sequence-group": "a,b",
            "fields.b.aggregate-function": "last_non_null_value",
            "fields.b.ignore-retract": "true",
            "fields.k.aggregate-function": "sum",
            "sequence.field": "s",
            "sequence.field.sort-order": "descending",
            "partial-update.remove-record-on-sequence-group": "g",
        },
    )

    assert merge_spec(schema) == MergeSpec(
        columns=("k", "d", "g", "h", "a", "b", "s"),
        engine=MergeEngine.PARTIAL_UPDATE,
        key_columns=("k",),
        not_null_columns=frozenset({"k", "d"}),
        sequence_fields=("s",),
        sequence_descending=True,
        groups=(SequenceGroup(ordering=("g", "h"), protected=("a", "b")),),
        removing_columns=frozenset({"g"}),
        functions=(
            ColumnFunction(
                column="b",
                name="last_non_null_value",
                ignore_retract=True,
                type=schema.field("b").type,
            ),
        ),
    )


def test_partial_update_options_sleep_under_deduplicate() -> None:
    schema = given_schema(
        COLUMNS,
        options={
            "fields.g.sequence-group": "zz",
            "fields.a.aggregate-function": "sum",
            "deduplicate.ignore-delete": "true",
        },
    )

    spec = merge_spec(schema)

    assert (spec.groups, spec.functions, spec.ignore_delete) == ((), (), True)


def test_aggregation_gives_every_column_outside_the_key_a_function() -> None:
    schema = given_schema(
        COLUMNS,
        key="k d",
        partition="d",
        options={
            "merge-engine": "aggregation",
            "sequence.field": "s",
            "fields.a.aggregate-function": "listagg",
            "fields.a.list-agg-delimiter": ";",
            "fields.k.aggregate-function": "sum",
            "fields.default-aggregate-function": "max",
            "ignore-delete": "true",
            "aggregation.remove-record-on-delete": "true",
        },
    )

    spec = merge_spec(schema)

    assert {function.column: function.name for function in spec.functions} == {
        "g": "max",
        "h": "max",
        "a": "listagg",
        "b": "max",
        "s": "last_value",
    }
    assert spec.functions[2].option("list-agg-delimiter", ",") == ";"
    assert spec.functions[2].option("distinct", "false") == "false"
    # Under this engine only the filter of the writer reads it.
    assert not spec.ignore_delete
    assert spec.remove_record_on_delete


def test_an_unknown_function_is_refused() -> None:
    options = {"merge-engine": "aggregation", "fields.a.aggregate-function": "acme.median"}

    with pytest.raises(UnsupportedFeature, match="unknown here") as refused:
        merge_spec(given_schema(COLUMNS, options=options))

    assert [problem.field for problem in refused.value.problems] == ["fields.a.aggregate-function"]


GROUPED = MergeSpec(
    engine=MergeEngine.PARTIAL_UPDATE,
    key_columns=("k",),
    sequence_fields=("s",),
    groups=(
        SequenceGroup(ordering=("g", "h"), protected=("a",)),
        SequenceGroup(ordering=("i",), protected=("b",)),
    ),
)


@pytest.mark.parametrize(
    ("projection", "needed"),
    [
        ((), ("k", "s")),
        (("c",), ("c", "k", "s")),
        (("a", "c"), ("a", "c", "k", "s", "g", "h")),
        (("h",), ("h", "k", "s", "g")),
        (("b", "a", "k"), ("b", "a", "k", "s", "g", "h", "i")),
    ],
    ids=str,
)
def test_merging_needs_keys_sequence_fields_and_ordering_columns(
    projection: tuple[str, ...], needed: tuple[str, ...]
) -> None:
    assert columns_needed(GROUPED, projection) == needed


def test_the_group_of_a_sequence_field_is_needed_whole() -> None:
    spec = replace(GROUPED, sequence_fields=("g",))

    needed = columns_needed(spec, ["c"])

    assert needed == ("c", "k", "g", "h")
    assert columns_needed(spec, needed) == ("c", "k", "g", "h")


def test_groups_that_can_remove_a_row_are_always_needed() -> None:
    spec = MergeSpec(
        engine=MergeEngine.PARTIAL_UPDATE,
        key_columns=("k",),
        groups=GROUPED.groups,
        removing_columns=frozenset({"h"}),
        columns=("k", "g", "a", "h", "i", "b", "c"),
    )

    assert columns_needed(spec, ["b"]) == ("k", "g", "h", "i", "b")
