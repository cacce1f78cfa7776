"""Tables that may be compacted, and those that may not."""

import pytest

from braid.lake.errors import UnsupportedFeature
from braid.lake.maintenance.compaction.compactable import check_compactable
from tests.given_tables import given_schema


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"write-only": "true"},
        {"changelog-producer": "input"},
        {"merge-engine": "first-row"},
        {"merge-engine": "partial-update"},
        {"file.compression": "lz4"},
        {"chain-table.enabled": "false"},
        {"deletion-vectors.enabled": "true"},
        {"changelog-producer": "lookup"},
        {"changelog-producer": "lookup", "merge-engine": "aggregation"},
        {"changelog-producer": "full-compaction"},
        {"force-lookup": "true", "merge-engine": "partial-update"},
        {"record-level.expire-time": "1 d", "record-level.time-field": "k"},
    ],
)
def test_these_are_compacted(options: dict[str, str]) -> None:
    check_compactable(given_schema({"k": "INT"}, key=["k"], options=options))


@pytest.mark.parametrize(
    "options",
    [
        {
            "record-level.expire-time": "1 d",
            "record-level.time-field": "k",
            "changelog-producer": "lookup",
        },
        {"chain-table.enabled": "true"},
        {"file.compression": "lzo"},
        {"changelog-file.compression": "lzo", "changelog-producer": "lookup"},
        {"changelog-file.format": "csv", "changelog-producer": "full-compaction"},
    ],
)
def test_these_are_refused_by_name(options: dict[str, str]) -> None:
    schema = given_schema({"k": "INT"}, key=["k"], options=options)

    with pytest.raises(UnsupportedFeature) as caught:
        check_compactable(schema)

    assert caught.value.problems[0].field == next(iter(options))
    assert caught.value.problems[0].value == next(iter(options.values()))
