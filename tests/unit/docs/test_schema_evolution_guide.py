"""The schema of the guide to schema evolution adds the columns that the guide shows."""

import re
from pathlib import Path

from braid.formats.message_types import message_types
from braid.records.new_fields.typed_field_reader import TypedFieldReader
from braid.records.new_fields.undeclared_field_reader import UndeclaredFieldReader
from braid.records.new_fields.value_shape import type_of
from braid.schemas import AvroFormat
from tests.support.doc_examples import ROOT
from tests.unit.records.given_streams import given_plan, given_spec

GUIDE: Path = ROOT / "docs" / "guides" / "schema-evolution.md"


def test_a_schema_adds_the_columns_of_the_guide() -> None:
    text = GUIDE.read_text()
    (schema,) = re.findall(r"```json schema\n(.*?)```", text, re.DOTALL)
    (columns,) = re.findall(r"```text columns\n(.*?)```", text, re.DOTALL)
    plan = given_plan(given_spec({"id": "BIGINT"}, sequence_groups=[], merge_engine="deduplicate"))
    types = message_types(AvroFormat(schema=schema), None)
    assert types is not None
    reader = TypedFieldReader(UndeclaredFieldReader(plan=plan), types)

    found = reader.read(b"", dict, is_unfit=False).new

    assert [f"{path[-1]} {type_of(shape)}" for path, shape in found.items()] == columns.splitlines()
