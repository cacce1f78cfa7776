from braid.lake.format.data_types import (
    UNASSIGNED,
    DataField,
    TypeRoot,
    assign_field_ids,
    highest_field_id,
)
from braid.lake.format.type_codec import parse_type


def test_new_fields_are_numbered_before_the_fields_inside_them() -> None:
    nested = {"type": "ARRAY", "element": {"type": "ROW", "fields": [{"name": "y", "type": "INT"}]}}
    fields = [
        DataField(name="a", type=parse_type("INT")),
        DataField(name="b", type=parse_type(nested)),
        DataField(name="c", type=parse_type({"type": "MAP", "key": "INT", "value": nested})),
    ]
    assert highest_field_id(fields) == UNASSIGNED

    numbered = assign_field_ids(fields, first_id=10)

    assert [field.id for field in numbered] == [10, 11, 13]
    element = numbered[1].type.element
    assert element is not None
    assert [field.id for field in element.fields] == [12]
    assert highest_field_id(numbered) == 14


def test_only_nested_roots_are_nested() -> None:
    assert parse_type("ARRAY<INT>").is_nested
    assert not parse_type("STRING").is_nested
    assert parse_type("STRING").root is TypeRoot.VARCHAR
