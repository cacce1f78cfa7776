"""What Iceberg readers could not read is refused when it is declared."""

import pytest

from braid.lake.declaration.validation import validate_schema
from braid.lake.errors import InvalidRequest
from tests.unit.lake.merge.given_schemas import given_schema

STORAGE = "metadata.iceberg.storage"
ON = {STORAGE: "table-location"}


@pytest.mark.parametrize(
    ("options", "field", "message"),
    [
        ({STORAGE: "hive-catalog"}, STORAGE, "no Hive metastore"),
        ({STORAGE: "rest-catalog"}, STORAGE, "no REST catalog"),
        ({STORAGE: "nowhere"}, STORAGE, "one of disabled"),
        ({"metadata.iceberg.uri": "thrift://x"}, "metadata.iceberg.uri", "no such option"),
        ({"metadata.iceberg.format-version": "3"}, "metadata.iceberg.format-version", "version 2"),
        (
            {"metadata.iceberg.compaction.max.file-num": "9"},
            "metadata.iceberg.compaction.max.file-num",
            "which is 10",
        ),
        (
            {STORAGE: "hadoop-catalog", "metadata.iceberg.storage-location": "table-location"},
            "metadata.iceberg.storage-location",
            "finds no table",
        ),
        ({**ON, "file.format": "orc"}, STORAGE, "ids"),
        ({**ON, "file.format.per.level": "5:avro"}, STORAGE, "ids"),
        ({**ON, "deletion-vectors.enabled": "true"}, STORAGE, "deleted rows"),
        (
            {**ON, "braid.delete-retention": "1 h", "braid.delete-retention.time-fields": "t"},
            STORAGE,
            "as rows",
        ),
    ],
)
def test_an_option_that_cannot_be_is_refused(
    options: dict[str, str], field: str, message: str
) -> None:
    with pytest.raises(InvalidRequest) as caught:
        validate_schema(given_schema("k INT, v INT, t TIMESTAMP(3)", options=options))

    (problem,) = caught.value.problems
    assert problem.field == field
    assert message in str(problem)


def test_a_column_without_a_counterpart_is_refused_with_the_reason() -> None:
    with pytest.raises(InvalidRequest) as caught:
        validate_schema(given_schema("k INT, v TIME(3), w ROW<a TIMESTAMP(9)>", options=ON))

    assert [problem.field for problem in caught.value.problems] == ["columns.v", "columns.w"]
    assert "precision 3 to 6" in str(caught.value)


def test_such_a_column_is_allowed_without_metadata() -> None:
    validate_schema(given_schema("k INT, v TIME(3)", options={STORAGE: "disabled"}))
