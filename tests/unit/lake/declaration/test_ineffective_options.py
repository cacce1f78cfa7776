import pytest

from braid.lake.declaration.ineffective_options import ineffective_options
from tests.unit.lake.merge.given_schemas import given_schema

COLUMNS = "k INT NOT NULL, g INT, v INT, w STRING"
PARTIAL = {"merge-engine": "partial-update", "fields.g.sequence-group": "v"}
AGGREGATION = {"merge-engine": "aggregation"}


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"sequence.field": "g", "ignore-delete": "true", "deduplicate.ignore-delete": "true"},
        {**PARTIAL, "partial-update.remove-record-on-sequence-group": "g"},
        {
            **PARTIAL,
            "fields.v.aggregate-function": "sum",
            "fields.v.ignore-retract": "true",
        },
        {**AGGREGATION, "fields.default-aggregate-function": "last_value"},
        {
            **AGGREGATION,
            "fields.w.aggregate-function": "listagg",
            "fields.w.list-agg-delimiter": ";",
            "fields.w.distinct": "true",
        },
        {**AGGREGATION, "fields.v.ignore-retract": "true"},
        {"fields.w.map.storage-layout": "default", "fields.w.pk-vector.index.type": "x"},
        {"file.format": "parquet", "an.option.of.somebody": "else"},
        {"snapshot.expire.execution-mode": "async", "lookup.cache-rows": "1"},
        {"owner": "sales", "acme.ignore-delete-after": "1 d", "parquet.page.size": "1"},
    ],
    ids=str,
)
def test_options_with_an_effect_are_not_listed(options: dict[str, str]) -> None:
    assert ineffective_options(given_schema(COLUMNS, options=options)) == ()


@pytest.mark.parametrize(
    ("options", "key", "why", "hint"),
    [
        (
            {**AGGREGATION, "fields.v.aggregation-function": "sum"},
            "fields.v.aggregation-function",
            "no such option of a column",
            "did you mean `aggregate-function`?",
        ),
        (
            {"fields.v.Aggregate-Function": "sum"},
            "fields.v.Aggregate-Function",
            "no such option of a column",
            "did you mean `aggregate-function`?",
        ),
        (
            {**AGGREGATION, "fields.v.aggregate-function": "sum", "fields.v.distinct": "true"},
            "fields.v.distinct",
            "`sum`, the function of `v`, does not read it",
            "it belongs to collect, listagg",
        ),
        (
            {**AGGREGATION, "fields.v.count-limit": "x"},
            "fields.v.count-limit",
            "`last_non_null_value`, the function of `v`, does not read it",
            "it belongs to nested_update",
        ),
        (
            {**AGGREGATION, "fields.g.sequence-group": "v"},
            "fields.g.sequence-group",
            "merge-engine = aggregation has no sequence groups",
            "they belong to partial-update",
        ),
        (
            {"fields.v.aggregate-function": "sum"},
            "fields.v.aggregate-function",
            "merge-engine = deduplicate has no aggregate functions",
            "leave it out",
        ),
        (
            {"fields.default-aggregate-function": "sum"},
            "fields.default-aggregate-function",
            "merge-engine = deduplicate has no aggregate functions",
            "leave it out",
        ),
        (
            {**AGGREGATION, "fields.k.aggregate-function": "sum"},
            "fields.k.aggregate-function",
            "`k` is a key column",
            "leave it out",
        ),
        (
            {**PARTIAL, "fields.g.aggregate-function": "sum"},
            "fields.g.aggregate-function",
            "`g` is an ordering column",
            "leave it out",
        ),
        (
            {**PARTIAL, "fields.v.ignore-retract": "true"},
            "fields.v.ignore-retract",
            "`v` has no aggregate function",
            "leave it out",
        ),
        (
            {**PARTIAL, "aggregation.remove-record-on-delete": "true"},
            "aggregation.remove-record-on-delete",
            "merge-engine = partial-update does not read it",
            "it belongs to aggregation",
        ),
        (
            {"partial-update.remove-record-on-delete": "true"},
            "partial-update.remove-record-on-delete",
            "merge-engine = deduplicate does not read it",
            "it belongs to partial-update",
        ),
        ({"ignor-delete": "true"}, "ignor-delete", "no such option", "mean `ignore-delete`?"),
        ({"ignore_delete": "true"}, "ignore_delete", "no such option", "mean `ignore-delete`?"),
        ({"sequence.fields": "g"}, "sequence.fields", "no such option", "mean `sequence.field`?"),
        ({"MERGE-ENGINE": "first-row"}, "MERGE-ENGINE", "no such option", "mean `merge-engine`?"),
        (
            {"partial-update.remove-on-delete": "true"},
            "partial-update.remove-on-delete",
            "no such option",
            "mean `partial-update.remove-record-on-delete`?",
        ),
        (
            {**AGGREGATION, "field.v.aggregate-function": "sum"},
            "field.v.aggregate-function",
            "no such option",
            "mean `fields.v.aggregate-function`?",
        ),
        (
            {"sequence.field.sort-order": "descending"},
            "sequence.field.sort-order",
            "there is no `sequence.field`",
            "declare the fields",
        ),
        (
            {"commit.force-compact": "true"},
            "commit.force-compact",
            "commits neither compact",
            "braid maintain",
        ),
        ({"lookup-wait": "false"}, "lookup-wait", "commits neither compact", "braid maintain"),
        (
            {"changelog-producer.lookup-wait": "true"},
            "changelog-producer.lookup-wait",
            "commits neither compact",
            "braid maintain",
        ),
    ],
    ids=str,
)
def test_an_option_without_effect_is_listed_with_the_intended_one(
    options: dict[str, str], key: str, why: str, hint: str
) -> None:
    (problem,) = ineffective_options(given_schema(COLUMNS, options=options))

    assert (problem.field, problem.value) == (key, options[key])
    assert problem.message.startswith("has no effect: ")
    assert why in problem.message
    assert hint in str(problem.hint)
