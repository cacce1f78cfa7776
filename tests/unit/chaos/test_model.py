"""The model of the rows, and what it finds in a table that is not so."""

from tests.support.chaos.model import expected_rows, row_differences
from tests.support.chaos.records import Fate, Placed, Record
from tests.support.chaos.streams import ORDERS, PAYMENTS, SHIPPING


def placed(*contents: dict[str, object], fate: Fate = Fate.ROW) -> list[Placed]:
    return [
        Placed(
            partition=0,
            offset=offset,
            record=Record(
                number=offset,
                partition=0,
                key=None,
                value=None,
                headers=(),
                fate=fate,
                content={"id": 1, **content},
            ),
        )
        for offset, content in enumerate(contents)
    ]


def row(**values: object) -> dict[str, object]:
    nothing = dict.fromkeys(("order_text", "order_version", "carrier", "paid"))
    return {"id": 1, **nothing, **values}


def order(version: int, text: str | None) -> dict[str, object]:
    return {"order_version": version, "order_text": text}


def test_the_newest_version_decides_and_of_equal_ones_the_last_to_come() -> None:
    orders = placed(order(5, "a"), order(7, "b"), order(7, "c"), order(6, "d"))

    assert expected_rows({ORDERS: orders}) == [row(order_version=7, order_text="c")]


def test_a_delete_clears_the_columns_and_keeps_its_version() -> None:
    orders = placed(order(5, "a"), {"order_version": 6, "op": "d"}, order(4, "late"))

    assert expected_rows({ORDERS: orders}) == [row(order_version=6)]


def test_the_last_to_come_decides_without_versions_and_sums_count_each() -> None:
    topics = {
        SHIPPING: placed({"carrier": "a"}, {"carrier": "b"}),
        PAYMENTS: placed({"paid": 3}, {"paid": 3}),
    }

    assert expected_rows(topics) == [row(carrier="b", paid=6)]


def test_large_records_are_rows_in_the_end_and_letters_are_not() -> None:
    large = placed({"carrier": "large"}, fate=Fate.LARGE)
    letters = placed({"carrier": "refused"}, fate=Fate.LETTER)

    assert expected_rows({SHIPPING: large + letters}) == [row(carrier="large")]


def test_differences_are_named_by_key() -> None:
    found = [row(paid=1), row(paid=1), {**row(), "id": 2}]
    expected = [row(paid=2), {**row(), "id": 3}]

    wrong = row_differences(found, expected)

    assert [line.partition(":")[0] for line in wrong] == ["key 1", "key 1", "key 2", "key 3"]
    assert wrong[0] == "key 1: found twice"
    assert "'paid': 1}, expected" in wrong[1]
    assert row_differences(expected, expected) == []
