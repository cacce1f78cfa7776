"""Texts of contracts and their fields come from the docstrings, and stand in the JSON Schema at the fields."""

from pydantic import Field

from braid.schemas import Contract
from braid.schemas.field_texts import attribute_texts, class_text


class Parcel(Contract):
    """A parcel
    on its way.

    It has no address.

    Attributes:
        carrier: Who carries it; None:
            nobody yet.
        weight_g: The weight, grams.
    """

    carrier: str | None = None
    weight_g: int = Field(default=0, alias="weight")
    untold: bool = False


class SentParcel(Parcel):
    """A parcel that was sent.

    Attributes:
        carrier: Who carries it.
    """


class Untold(Contract):
    carrier: str


def test_the_text_of_a_class_is_its_docstring_without_the_attributes() -> None:
    assert class_text(Parcel) == "A parcel on its way.\n\nIt has no address."


def test_the_texts_of_attributes_are_lines_without_breaks() -> None:
    assert attribute_texts(Parcel) == {
        "carrier": "Who carries it; None: nobody yet.",
        "weight_g": "The weight, grams.",
    }


def test_a_subclass_has_the_texts_of_its_base_class_where_it_says_nothing_else() -> None:
    assert attribute_texts(SentParcel) == {
        "carrier": "Who carries it.",
        "weight_g": "The weight, grams.",
    }


def test_the_json_schema_has_each_text_at_its_field_in_terms_of_json() -> None:
    schema = Parcel.model_json_schema()

    assert schema["description"] == "A parcel on its way.\n\nIt has no address."
    assert schema["properties"]["carrier"]["description"] == "Who carries it; null: nobody yet."
    assert schema["properties"]["weight"]["description"] == "The weight, grams."
    assert "description" not in schema["properties"]["untold"]


def test_a_class_without_a_docstring_has_no_text() -> None:
    assert class_text(Untold) == ""
    assert "description" not in Untold.model_json_schema()
