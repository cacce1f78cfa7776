"""Rules for aggregate functions, under both engines that have them."""

from dataclasses import replace

import pytest

from braid.lake.declaration.validation import validate_schema
from braid.lake.errors import InvalidRequest, Problem
from braid.lake.format.data_types import DataField, DataType, TypeRoot
from braid.lake.format.schema import TableSchema
from braid.lake.format.type_codec import parse_type
from tests.unit.lake.merge.given_schemas import given_schema

AGGREGATION = {"merge-engine": "aggregation"}
PARTIAL = {"merge-engine": "partial-update", "fields.g.sequence-group": "v"}


def row_of(**fields: str) -> DataType:
    """Return a ROW of fields, each given by its type."""
    typed = enumerate(fields.items(), start=3)
    return DataType(
        root=TypeRoot.ROW,
        fields=tuple(DataField(id=i, name=n, type=parse_type(sql)) for i, (n, sql) in typed),
    )


def rows_of(**fields: str) -> DataType:
    """Return an ARRAY of such a ROW."""
    return DataType(root=TypeRoot.ARRAY, element=row_of(**fields))


def map_to_row(**fields: str) -> DataType:
    """Return a MAP from texts to such a ROW."""
    return DataType(root=TypeRoot.MAP, key=parse_type("STRING"), value=row_of(**fields))


ROWS = rows_of(id="INT", n="INT", t="STRING")


def type_of(given: str | DataType) -> DataType:
    """Return the type of a text, or the type."""
    return parse_type(given) if isinstance(given, str) else given


def given_column(sql: str | DataType, options: dict[str, str]) -> TableSchema:
    """Return a schema with key k, ordering column g and a column v of the type."""
    schema = given_schema("k INT, g INT, v INT", options=options)
    typed = DataField(id=2, name="v", type=type_of(sql))
    return replace(schema, fields=(*schema.fields[:2], typed))


def problems_of(schema: TableSchema) -> tuple[Problem, ...]:
    """Return what is wrong with the schema; nothing when it is accepted."""
    try:
        validate_schema(schema)
    except InvalidRequest as error:
        return error.problems
    return ()


TAKEN: dict[str, tuple[str | DataType, ...]] = {
    "sum": ("TINYINT", "BIGINT", "DOUBLE", "DECIMAL(38, 10)"),
    "product": ("SMALLINT", "INT", "FLOAT", "DECIMAL(5, 2)"),
    "max": ("INT", "STRING", "CHAR(3)", "BYTES", "DATE", "TIME(3)", "TIMESTAMP(9)"),
    "min": ("DOUBLE", "VARCHAR(5)", "BINARY(2)", "TIMESTAMP(3) WITH LOCAL TIME ZONE"),
    "last_value": ("INT", "MAP<INT, INT>", ROWS),
    "last_non_null_value": ("STRING", "ARRAY<INT>"),
    "first_value": ("DATE", "MAP<STRING, INT>"),
    "first_non_null_value": ("BOOLEAN", "ARRAY<STRING>"),
    "first_not_null_value": ("INT",),
    "listagg": ("STRING",),
    "bool_and": ("BOOLEAN",),
    "bool_or": ("BOOLEAN",),
    "collect": ("ARRAY<INT>", ROWS),
    "merge_map": ("MAP<STRING, INT>",),
    "merge_map_with_keytime": (map_to_row(x="INT", t="STRING"),),
    "nested_update": (ROWS,),
    "rbm32": ("BYTES", "VARBINARY(10)"),
    "rbm64": ("BYTES",),
    "hll_sketch": ("BYTES",),
    "theta_sketch": ("BYTES",),
}
REFUSED: dict[str, tuple[str | DataType, ...]] = {
    "sum": ("STRING", "BOOLEAN", "DATE", "ARRAY<INT>"),
    "product": ("STRING", "TIMESTAMP(3)"),
    "max": ("ARRAY<INT>", "MAP<INT, INT>", "MULTISET<INT>"),
    "min": (ROWS,),
    "listagg": ("INT", "ARRAY<STRING>"),
    "bool_and": ("INT",),
    "bool_or": ("STRING",),
    "collect": ("INT", "MAP<INT, INT>", "MULTISET<INT>"),
    "merge_map": ("ARRAY<INT>", "MULTISET<INT>"),
    "merge_map_with_keytime": ("MAP<STRING, INT>", map_to_row(x="INT"), "INT"),
    "nested_update": ("ARRAY<INT>", "INT"),
    "nested_partial_update": ("ARRAY<INT>", "STRING"),
    "rbm32": ("BINARY(8)", "STRING"),
    "rbm64": ("BIGINT",),
    "hll_sketch": ("BINARY(8)", "INT"),
    "theta_sketch": ("STRING",),
}


@pytest.mark.parametrize("engine", [AGGREGATION, PARTIAL], ids=["aggregation", "partial-update"])
@pytest.mark.parametrize(
    ("function", "sql"),
    [(name, sql) for name, types in TAKEN.items() for sql in types],
    ids=str,
)
def test_a_function_takes_columns_of_its_types(
    function: str, sql: str | DataType, engine: dict[str, str]
) -> None:
    options = {**engine, "fields.v.aggregate-function": function}

    assert problems_of(given_column(sql, options)) == ()


@pytest.mark.parametrize("engine", [AGGREGATION, PARTIAL], ids=["aggregation", "partial-update"])
@pytest.mark.parametrize(
    ("function", "sql"),
    [(name, sql) for name, types in REFUSED.items() for sql in types],
    ids=str,
)
def test_a_function_refuses_columns_of_other_types(
    function: str, sql: str | DataType, engine: dict[str, str]
) -> None:
    key = "fields.v.aggregate-function"
    options = {**engine, key: function, "fields.v.nested-key": "id"}

    (problem,) = problems_of(given_column(sql, options))

    assert (problem.field, problem.value) == (key, function)
    assert f"column `v` is {type_of(sql)}, but `{function}` accepts " in problem.message
    assert "last_value" in str(problem.hint)


@pytest.mark.parametrize(
    ("options", "sql"),
    [
        ({"fields.v.aggregate-function": "listagg", "fields.v.list-agg-delimiter": ""}, "STRING"),
        ({"fields.v.aggregate-function": "listagg", "fields.v.distinct": "TRUE"}, "STRING"),
        ({"fields.v.aggregate-function": "collect", "fields.v.distinct": "false"}, "ARRAY<INT>"),
        ({"fields.v.aggregate-function": "sum", "fields.v.ignore-retract": "True"}, "INT"),
        ({"fields.v.aggregate-function": "nested_update", "fields.v.count-limit": "3"}, ROWS),
        (
            {
                "fields.v.aggregate-function": "nested_update",
                "fields.v.nested-key": "id, n",
                "fields.v.nested-key-null-strategy": "IGNORE",
                "fields.v.nested-sequence-field": "t",
            },
            ROWS,
        ),
        (
            {"fields.v.aggregate-function": "nested_partial_update", "fields.v.nested-key": "id"},
            ROWS,
        ),
        (
            {"fields.v.aggregate-function": "merge_map_with_keytime", "fields.v.ts-field": "x"},
            map_to_row(x="STRING", y="INT"),
        ),
        # Options that the column's function does not read are left alone.
        ({"fields.v.count-limit": "x"}, "INT"),
        ({"fields.v.aggregate-function": "sum", "fields.v.distinct": "maybe"}, "INT"),
        ({"fields.v.aggregate-function": "sum", "fields.v.nested-key": "zz"}, "INT"),
        ({"fields.k.aggregate-function": "listagg"}, "INT"),  # keys have no function
        ({"fields.v.aggregation-function": "sum"}, "STRING"),
    ],
    ids=str,
)
@pytest.mark.parametrize("engine", [AGGREGATION, PARTIAL], ids=["aggregation", "partial-update"])
def test_options_that_can_be_read_are_accepted(
    options: dict[str, str], sql: str | DataType, engine: dict[str, str]
) -> None:
    assert problems_of(given_column(sql, {**engine, **options})) == ()


@pytest.mark.parametrize(
    ("function", "sql", "key", "value", "message"),
    [
        ("listagg", "STRING", "distinct", "yes", "true"),
        ("collect", "ARRAY<INT>", "distinct", "1", "true"),
        ("collect", "ARRAY<INT>", "distinct", " true", "true"),
        ("listagg", "STRING", "distinct", "true\n", "true"),
        ("sum", "INT", "ignore-retract", "maybe", "true or false"),
        ("sum", "INT", "ignore-retract", " true", "true or false"),
        ("nested_update", ROWS, "count-limit", "x", "from 1 to"),
        ("nested_update", ROWS, "count-limit", "2147483648", "from 1 to 2147483647"),
        ("nested_update", ROWS, "count-limit", "0", "from 1 to 2147483647"),
        ("nested_update", ROWS, "count-limit", "-1", "from 1 to 2147483647"),
        ("nested_update", ROWS, "nested-key", "id,zz", "id, n, t"),
        ("nested_update", ROWS, "nested-key-null-strategy", "ignore", "nested-key"),
        ("nested_update", ROWS, "nested-sequence-field", "n", "nested-key"),
        ("merge_map_with_keytime", map_to_row(x="INT", y="STRING"), "ts-field", "t", "x, y"),
    ],
    ids=str,
)
@pytest.mark.parametrize("engine", [AGGREGATION, PARTIAL], ids=["aggregation", "partial-update"])
def test_an_option_that_its_function_cannot_read_is_refused(
    function: str, sql: str | DataType, key: str, value: str, message: str, engine: dict[str, str]
) -> None:
    key = f"fields.v.{key}"
    options = {**engine, "fields.v.aggregate-function": function, key: value}

    (problem,) = problems_of(given_column(sql, options))

    assert problem.field == key
    assert str(problem.value) in value
    assert message in f"{problem.message} {problem.hint}"


def test_nested_partial_update_needs_its_key() -> None:
    options = {**AGGREGATION, "fields.v.aggregate-function": "nested_partial_update"}

    (problem,) = problems_of(given_column(ROWS, options))

    assert problem.field == "fields.v.nested-key"


@pytest.mark.parametrize(
    ("key", "name", "hint"),
    [
        ("fields.v.aggregate-function", "Sum", "did you mean `sum`? functions: "),
        ("fields.v.aggregate-function", "list_agg", "did you mean `listagg`? functions: "),
        ("fields.v.aggregate-function", "count", "functions: "),
        ("fields.k.aggregate-function", "nope", "functions: "),  # a key, which would not use it
        ("fields.default-aggregate-function", "last", "functions: "),
    ],
)
@pytest.mark.parametrize("engine", [AGGREGATION, PARTIAL], ids=["aggregation", "partial-update"])
def test_a_function_that_does_not_exist_is_refused(
    key: str, name: str, hint: str, engine: dict[str, str]
) -> None:
    (problem,) = problems_of(given_column("INT", {**engine, key: name}))

    assert (problem.field, problem.value) == (key, name)
    assert problem.message == "there is no such aggregate function"
    assert hint in str(problem.hint)
    assert "last_non_null_value, last_value, listagg" in str(problem.hint)


@pytest.mark.parametrize("engine", ["deduplicate", "first-row"])
def test_engines_without_functions_do_not_check_their_options(engine: str) -> None:
    options = {"merge-engine": engine, "fields.v.aggregate-function": "nope"}

    assert problems_of(given_column("INT", options)) == ()


def test_a_default_function_has_to_fit_every_column_that_names_none() -> None:
    default = "fields.default-aggregate-function"
    columns = "k STRING, a INT, b STRING, c DATE, d STRING, s STRING"
    options = {
        **AGGREGATION,
        default: "sum",
        "fields.d.aggregate-function": "max",
        "sequence.field": "s",
    }

    found = problems_of(given_schema(columns, options=options))

    assert [(problem.field, problem.value) for problem in found] == [(default, "sum")] * 2
    assert "column `b` is STRING" in found[0].message
    assert "column `c` is DATE" in found[1].message


@pytest.mark.parametrize("column", ["v", "k", "g"])
def test_a_delete_that_removes_the_row_leaves_no_column_alone(column: str) -> None:
    key = f"fields.{column}.ignore-retract"
    removing = {**AGGREGATION, "aggregation.remove-record-on-delete": "true"}

    (problem,) = problems_of(given_column("INT", {**removing, key: "true"}))

    assert (problem.field, problem.value) == (key, "true")
    assert "aggregation.remove-record-on-delete = true" in problem.message
    assert problems_of(given_column("INT", {**removing, key: "false"})) == ()
    assert problems_of(given_column("INT", {**AGGREGATION, key: "true"})) == ()


def test_partial_update_without_functions_ignores_that_option_of_a_plain_column() -> None:
    options = {
        **PARTIAL,
        "aggregation.remove-record-on-delete": "true",
        "fields.v.ignore-retract": "true",
    }

    assert problems_of(given_column("INT", options)) == ()
    function = {"fields.v.aggregate-function": "sum"}
    assert len(problems_of(given_column("INT", {**options, **function}))) == 1
