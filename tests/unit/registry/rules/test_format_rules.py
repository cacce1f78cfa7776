"""A stream reads columns only from fields that messages of its format have."""

from typing import Any

import pytest

from braid.registry.rules.stream_completion import complete_stream
from braid.registry.rules.stream_rules import check_stream
from tests.unit.registry.shop import definition, mapped, orders

COLUMNS = mapped("id", "region", "paid", "method")
CSV = {"type": "csv", "fields": ["id", "region", "paid", "method"]}


def problems(format_: Any, **fields: Any) -> list[tuple[str, str]]:
    table = orders()
    wanted = definition("payments", **{"columns": COLUMNS, "format": format_, **fields})
    found = check_stream(table, {}, complete_stream(table, wanted, name="payments"))
    return [(problem.pointer or "", problem.message) for problem in found]


def test_columns_are_read_from_declared_fields() -> None:
    assert problems(CSV) == []
    assert problems({**CSV, "fields": ["id", "region", "paid", "m"]}) == [
        ("/columns/3/path", "messages of the format `csv` have no such field")
    ]


def test_a_raw_message_has_one_field() -> None:
    key = [
        {"column": "id", "source": "key", "path": "id"},
        {"column": "region", "source": "key", "path": "r"},
    ]
    value = [{"column": name, "path": "value"} for name in ("paid", "method")]

    found = problems("raw", columns=[*key, *value])

    assert [pointer for pointer, _ in found if "path" in pointer and "source" not in pointer] in (
        [],
        ["/columns/3/path"],  # the two columns have types of their own
    )
    assert problems("raw")[0] == (
        "/columns/0/path",
        "messages of the format `raw` have no such field",
    )


@pytest.mark.parametrize(
    ("options", "pointer"),
    [
        ({"fields": ["id", "id", "region", "paid", "method"]}, "/format/fields"),
        ({"delimiter": '"'}, "/format/quote"),
        ({"delimiter": "\n"}, "/format/delimiter"),
        ({"quote": "\r"}, "/format/quote"),
    ],
)
def test_options_of_csv_that_cannot_be_read_are_refused(
    options: dict[str, Any], pointer: str
) -> None:
    assert pointer in [found for found, _ in problems({**CSV, **options})]


@pytest.mark.parametrize("on_new_field", ["reject", "evolve"])
def test_a_format_without_names_has_no_new_fields(on_new_field: str) -> None:
    (found,) = problems(CSV, on_new_field=on_new_field)

    assert found[0] == "/on_new_field"
    assert "have no names of fields" in found[1]
