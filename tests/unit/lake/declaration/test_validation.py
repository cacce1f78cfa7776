from dataclasses import replace

import pytest

from braid.lake.declaration.validation import validate_schema
from braid.lake.errors import InvalidRequest, UnsupportedFeature
from braid.lake.format.data_types import DataField, DataType, TypeRoot
from braid.lake.format.schema import TableSchema
from braid.lake.format.type_codec import parse_type
from tests.unit.lake.merge.given_schemas import given_schema

COLUMNS = "k INT NOT NULL, g INT, h INT, v INT, w STRING"
FUNCTION = "fields.v.aggregate-function"
PARTIAL = {"merge-engine": "partial-update"}


def refused(schema: TableSchema) -> list[tuple[str, str | None]]:
    """Return (field, value) of every problem."""
    with pytest.raises(InvalidRequest) as error:
        validate_schema(schema)
    assert not isinstance(error.value, UnsupportedFeature)
    return [(problem.field, problem.value) for problem in error.value.problems]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"fields.g.sequence-group": "zz"},  # dormant under deduplicate
        {"fields.v.count-limit": "x"},
        {"sequence.field": "g, h", "sequence.field.sort-order": "descending"},
        {**PARTIAL, "fields.g.sequence-group": "v", "fields.h.sequence-group": "w"},
        {**PARTIAL, "fields.g,h.sequence-group": "v,w", "sequence.field": "g"},
        {**PARTIAL, "fields.k.aggregate-function": "sum"},  # keys ignore it
        {**PARTIAL, "fields.default-aggregate-function": "last_non_null_value"},
        {**PARTIAL, "partial-update.remove-record-on-delete": "true"},
        {
            **PARTIAL,
            "fields.g.sequence-group": "v",
            "partial-update.remove-record-on-sequence-group": "g",
        },
        {"merge-engine": "PARTIAL-UPDATE", "fields.v.aggregation-function": "sum"},
    ],
    ids=str,
)
def test_what_the_reference_accepts_is_accepted(options: dict[str, str]) -> None:
    validate_schema(given_schema(COLUMNS, options=options))


@pytest.mark.parametrize(
    ("options", "field", "value"),
    [
        ({"fields.zz.aggregate-function": "sum"}, "fields.zz.aggregate-function", "zz"),
        ({"fields": "v"}, "fields", "v"),
        ({"sequence.field": "zz"}, "sequence.field", "zz"),
        ({"sequence.field": "g,,h"}, "sequence.field", ""),
        ({"sequence.field": "g,g"}, "sequence.field", "g"),
        (
            {"sequence.field": "g", "fields.g.aggregate-function": "max"},
            "fields.g.aggregate-function",
            "max",
        ),
        ({"bucket-key": "v"}, "bucket-key", "v"),
        ({"bucket-key": "zz"}, "bucket-key", "zz"),
        ({"bucket": "-1", "bucket-key": "k"}, "bucket-key", "k"),
        ({"changelog-producer": "nope"}, "changelog-producer", "nope"),
        (
            {"changelog-producer": "lookup", "full-compaction.delta-commits": "2"},
            "full-compaction.delta-commits",
            "2",
        ),
        (
            {"changelog-producer": "full-compaction", "deletion-vectors.enabled": "true"},
            "changelog-producer",
            "full-compaction",
        ),
        (
            {"changelog-producer": "lookup", "streaming-read-overwrite": "true"},
            "streaming-read-overwrite",
            "true",
        ),
        ({**PARTIAL, "fields.zz.sequence-group": "v"}, "fields.zz.sequence-group", "zz"),
        ({**PARTIAL, "fields.g.x.sequence-group": "v"}, "fields.g.x.sequence-group", "g.x"),
        ({**PARTIAL, "fields.g..sequence-group": "v"}, "fields.g..sequence-group", "g."),
        ({**PARTIAL, "fields.g.x,h.sequence-group": "v"}, "fields.g.x,h.sequence-group", "g.x"),
        (
            {**PARTIAL, "fields.default-aggregate-function.sequence-group": "v"},
            "fields.default-aggregate-function.sequence-group",
            "default-aggregate-function",
        ),
        (
            {**PARTIAL, "fields.g,default-aggregate-function.sequence-group": "v"},
            "fields.g,default-aggregate-function.sequence-group",
            "default-aggregate-function",
        ),
        ({**PARTIAL, "fields.g.sequence-group": "v,zz"}, "fields.g.sequence-group", "zz"),
        ({**PARTIAL, "fields.g.sequence-group": "v, w"}, "fields.g.sequence-group", " w"),
        ({**PARTIAL, "fields.g.sequence-group": "v,v"}, "fields.g.sequence-group", "v"),
        ({**PARTIAL, "fields.g.sequence-group": "k,v"}, "fields.g.sequence-group", "k"),
        ({**PARTIAL, "fields.k.sequence-group": "v"}, "fields.k.sequence-group", "k"),
        ({**PARTIAL, "fields.g.xsequence-group": "v"}, "fields.g.xsequence-group", "v"),
        (
            {**PARTIAL, "fields.g.sequence-group": "v", "fields.h.sequence-group": "w,v"},
            "fields.h.sequence-group",
            "v",
        ),
        (
            {**PARTIAL, "fields.g.sequence-group": "v", "fields.g,h.sequence-group": "w"},
            "fields.g.sequence-group",
            "g",
        ),
        (
            {**PARTIAL, "fields.g.sequence-group": "v,h", "fields.h.sequence-group": "w"},
            "fields.g.sequence-group",
            "h",
        ),
        ({**PARTIAL, "fields.g.sequence-group": "g"}, "fields.g.sequence-group", "g"),
        ({**PARTIAL, "fields.g,g.sequence-group": "v"}, "fields.g,g.sequence-group", "g"),
        ({**PARTIAL, "fields.v.aggregate-function": "sum"}, FUNCTION, "sum"),
        (
            {**PARTIAL, "fields.default-aggregate-function": "count"},
            "fields.default-aggregate-function",
            "count",
        ),
        (
            {**PARTIAL, "ignore-delete": "true", "partial-update.remove-record-on-delete": "true"},
            "partial-update.remove-record-on-delete",
            "true",
        ),
        (
            {
                **PARTIAL,
                "fields.g.sequence-group": "v",
                "partial-update.remove-record-on-delete": "true",
            },
            "partial-update.remove-record-on-delete",
            "true",
        ),
        (
            {
                **PARTIAL,
                "fields.g.sequence-group": "v",
                "ignore-delete": "true",
                "partial-update.remove-record-on-sequence-group": "g",
            },
            "partial-update.remove-record-on-sequence-group",
            "g",
        ),
        (
            {
                **PARTIAL,
                "fields.g.sequence-group": "v",
                "partial-update.remove-record-on-sequence-group": "v",
            },
            "partial-update.remove-record-on-sequence-group",
            "v",
        ),
    ],
    ids=str,
)
def test_one_wrong_option_is_one_problem_that_names_it(
    options: dict[str, str], field: str, value: str
) -> None:
    assert refused(given_schema(COLUMNS, options=options)) == [(field, value)]


def test_a_default_function_concerns_every_column_outside_groups() -> None:
    default = "fields.default-aggregate-function"
    schema = given_schema(
        COLUMNS, options={**PARTIAL, "fields.g.sequence-group": "v", default: "max"}
    )

    assert refused(schema) == [(default, "max"), (default, "max")]
    with pytest.raises(InvalidRequest, match=r"column `h` is .*\n.*\n.*column `w` is "):
        validate_schema(schema)


@pytest.mark.parametrize(
    ("columns", "key", "partition", "expected"),
    [
        ("k INT", "", "", [("primary_key", None)]),
        ("k INT, v INT", "k v", "v k", [("primary_key", "k, v")]),
        ("k INT, v INT", "k zz", "", [("primary_key", "zz")]),
        ("k INT, v INT", "k k", "", [("primary_key", "k")]),
        ("k INT, v INT", "k", "zz", [("partition", "zz")]),
        ("k ARRAY<INT>, v INT", "k", "", [("primary_key", "k ARRAY<INT>")]),
        ("k INT, v MAP<INT,INT>", "k", "v", [("partition", "v"), ("partition", "v MAP<INT, INT>")]),
        ("k INT, p INT, q INT, v INT", "k q", "p q", [("partition", "p")]),
        ("k INT, v INT, v STRING", "k", "", [("columns", "v")]),
        ("k INT, _KEY_v INT", "k", "", [("columns", "_KEY_v")]),
        ("k INT, rowkind INT", "k", "", [("columns", "rowkind")]),
    ],
    ids=str,
)
def test_keys_and_columns_have_rules_of_their_own(
    columns: str, key: str, partition: str, expected: list[tuple[str, str | None]]
) -> None:
    assert refused(given_schema(columns, key=key, partition=partition)) == expected


def test_no_sequence_field_while_rows_can_change_partition() -> None:
    options = {"sequence.field": "s", "bucket": "-1"}
    schema = given_schema("k INT, p INT, s INT", partition="p", options=options)

    assert refused(schema) == [("sequence.field", "s")]


@pytest.mark.parametrize(("name", "value"), [("nope", "nope"), ("v", "v INT")])
def test_the_row_kind_is_a_text_column(name: str, value: str) -> None:
    validate_schema(given_schema("k INT, s STRING", options={"rowkind.field": "s"}))

    schema = given_schema("k INT, v INT", options={"rowkind.field": name})

    assert refused(schema) == [("rowkind.field", value)]


def test_a_path_into_a_row_is_no_column() -> None:
    row = DataType(root=TypeRoot.ROW, fields=(DataField(name="x", type=parse_type("INT")),))
    path = "fields.r.x.aggregate-function"
    flat = given_schema("k INT, r INT", options={path: "max"})
    nested = replace(flat, fields=(flat.fields[0], replace(flat.fields[1], type=row)))

    validate_schema(flat)
    assert refused(nested) == [(path, "max")]


def test_all_problems_are_reported_at_once() -> None:
    schema = given_schema(
        COLUMNS,
        key="zz",
        options={
            **PARTIAL,
            "sequence.field": "yy",
            "fields.g.sequence-group": "xx",
            "fields.v.aggregate-function": "sum",
            "partial-update.remove-record-on-sequence-group": "w",
        },
    )

    fields = {field for field, _ in refused(schema)}
    assert fields >= {
        "primary_key",
        "sequence.field",
        "fields.g.sequence-group",
        FUNCTION,
        "partial-update.remove-record-on-sequence-group",
    }


@pytest.mark.parametrize("declared", ["MAP<INT,INT>", "MULTISET<INT>", "ARRAY<INT>"])
def test_a_column_of_any_type_can_order_records(declared: str) -> None:
    columns = f"k INT, o {declared}, v INT"

    validate_schema(given_schema(columns, options={"sequence.field": "o"}))
    validate_schema(given_schema(columns, options={**PARTIAL, "fields.o.sequence-group": "v"}))


@pytest.mark.parametrize("engine", ["aggregation", "first-row", "deduplicate", "partial-update"])
def test_every_engine_is_accepted(engine: str) -> None:
    validate_schema(given_schema(COLUMNS, options={"merge-engine": engine}))


@pytest.mark.parametrize(
    ("options", "field", "because"),
    [
        ({"sequence.field": "g"}, "sequence.field", "the first record written stays"),
        ({"changelog-producer": "input"}, "changelog-producer", "only none and lookup"),
        ({"changelog-producer": "full-compaction"}, "changelog-producer", "only none and lookup"),
        ({"deletion-vectors.enabled": "true"}, "deletion-vectors.enabled", "nothing to mark"),
    ],
    ids=str,
)
def test_first_row_excludes_what_would_change_a_row(
    options: dict[str, str], field: str, because: str
) -> None:
    schema = given_schema(COLUMNS, options={"merge-engine": "first-row", **options})

    with pytest.raises(InvalidRequest) as error:
        validate_schema(schema)

    (problem,) = error.value.problems
    assert (problem.field, problem.value) == (field, next(iter(options.values())))
    assert problem.message == "conflicts with merge-engine = first-row"
    assert because in str(problem.hint)


def test_first_row_may_look_up_its_changelog() -> None:
    options = {"merge-engine": "first-row", "changelog-producer": "lookup"}

    validate_schema(given_schema(COLUMNS, options=options))


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        ({"sequence.field": "G"}, "did you mean `g`? columns: k, g, h, v, w"),
        ({**PARTIAL, "fields.g.sequence-group": "v, w"}, "did you mean `w`? columns: k, g, h, v"),
        ({"fields.vv.aggregate-function": "sum"}, "did you mean `v`? columns: k, g, h, v, w"),
        ({"sequence.field": "nothing like it"}, "columns: k, g, h, v, w"),
        (
            {
                **PARTIAL,
                "fields.g.sequence-group": "v",
                "partial-update.remove-record-on-sequence-group": "v",
            },
            "ordering columns: g",
        ),
        (
            {
                **PARTIAL,
                "fields.g.sequence-group": "v",
                "partial-update.remove-record-on-delete": "true",
            },
            "partial-update.remove-record-on-sequence-group gives it one; choose one of the two",
        ),
    ],
    ids=str,
)
def test_a_hint_says_what_was_meant_and_what_is_known(options: dict[str, str], hint: str) -> None:
    with pytest.raises(InvalidRequest) as error:
        validate_schema(given_schema(COLUMNS, options=options))

    assert hint in str(error.value.problems[0].hint)
