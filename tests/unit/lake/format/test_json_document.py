import pytest

from braid.lake.errors import CorruptData
from braid.lake.format.json_document import JsonDocument, dump_json


def test_absent_and_null_are_the_same() -> None:
    document = JsonDocument.parse(b'{"a": null}', what="test")

    assert document.optional_text("a") is document.optional_text("b") is None
    assert document.optional_integer("a") is document.optional_integer("b") is None
    assert document.text_map("a") == document.text_map("b") == {}


def test_a_boolean_is_not_a_whole_number() -> None:
    with pytest.raises(CorruptData, match="test file has True under `a`"):
        JsonDocument.parse(b'{"a": true}', what="test").integer("a")


def test_a_missing_text_is_reported() -> None:
    with pytest.raises(CorruptData, match="nothing under `a`, expected a string"):
        JsonDocument.parse(b"{}", what="test").text("a")


def test_the_largest_commit_identifier_is_exact() -> None:
    number = 9_223_372_036_854_775_807

    assert JsonDocument.parse(dump_json({"a": number}), what="test").integer("a") == number


def test_keys_without_a_value_are_left_out() -> None:
    assert dump_json({"a": None, "b": "é"}).decode() == '{\n  "b": "é"\n}'
