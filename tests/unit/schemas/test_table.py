"""Table declarations as bytes and back."""

import pytest
from pydantic import ValidationError

from braid.schemas import MergeEngine, TableSpec, Unordered

MINIMAL = {"columns": [{"name": "id", "type": "BIGINT"}], "primary_key": ["id"]}


def test_what_is_left_out_gets_the_documented_default() -> None:
    spec = TableSpec.model_validate(MINIMAL)

    assert spec.merge_engine is MergeEngine.PARTIAL_UPDATE
    assert spec.unordered is Unordered.REFUSED
    assert (spec.buckets, spec.tracking, spec.completeness.groups) == (4, True, "all")
    assert spec.staleness.default_seconds is None


@pytest.mark.parametrize(
    ("of_table", "expected"),
    [(None, {"b"}), ("refused", {"b"}), ("allowed", {"a", "b"})],
)
def test_a_column_says_for_itself_whether_its_order_matters(
    of_table: str | None, expected: set[str]
) -> None:
    columns = [
        {"name": "a", "type": "INT"},
        {"name": "b", "type": "INT", "unordered": "allowed"},
        {"name": "c", "type": "INT", "unordered": "refused"},
    ]
    whole = {} if of_table is None else {"unordered": of_table}

    spec = TableSpec.model_validate({"columns": columns, "primary_key": ["a"], **whole})

    assert spec.unordered_columns == expected
    assert TableSpec.model_validate(spec.model_dump(mode="json")) == spec


def test_a_declaration_survives_json() -> None:
    spec = TableSpec.model_validate(
        MINIMAL
        | {
            "sequence_groups": [{"name": "g", "ordering": None, "columns": ["a"]}],
            "staleness": {"groups": {"g": 60}},
            "completeness": {"groups": ["g"]},
            "options": {"snapshot.num-retained.min": "5"},
        }
    )

    assert TableSpec.model_validate_json(spec.model_dump_json()) == spec


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"colums": []}, ("colums",)),
        ({"columns": []}, ("columns",)),
        ({"primary_key": []}, ("primary_key",)),
        ({"buckets": "4"}, ("buckets",)),
        ({"merge_engine": "last-row"}, ("merge_engine",)),
        (
            {"columns": [{"name": "id", "type": "INT", "nullable": True}]},
            ("columns", 0, "nullable"),
        ),
        ({"deletes": "drop"}, ("deletes",)),
        (
            {"columns": [{"name": "v", "type": "INT", "aggregate": {"functoin": "sum"}}]},
            ("columns", 0, "aggregate", "functoin"),
        ),
        (
            {"columns": [{"name": "v", "type": "INT", "aggregate": {"function": ""}}]},
            ("columns", 0, "aggregate", "function"),
        ),
        ({"staleness": {"default_seconds": -1}}, ("staleness", "default_seconds")),
        ({"sequence_groups": [{"name": "g", "columns": []}]}, ("sequence_groups", 0, "columns")),
    ],
    ids=lambda value: str(value)[:40],
)
def test_an_invalid_table_is_refused_with_its_location(
    change: dict[str, object], place: tuple[str | int, ...]
) -> None:
    with pytest.raises(ValidationError) as caught:
        TableSpec.model_validate(MINIMAL | change)

    assert place in [error["loc"] for error in caught.value.errors()]


def test_a_group_is_found_by_its_name() -> None:
    spec = TableSpec.model_validate(
        MINIMAL | {"sequence_groups": [{"name": "g", "columns": ["a"]}]}
    )

    assert spec.sequence_group("g") == spec.sequence_groups[0]
    assert spec.sequence_group("h") is None
