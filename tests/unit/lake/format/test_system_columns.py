import pytest

from braid.lake.format.system_columns import RowKind, is_reserved


@pytest.mark.parametrize("kind", RowKind)
def test_a_row_kind_is_found_by_its_symbol(kind: RowKind) -> None:
    assert RowKind.from_symbol(kind.symbol) is kind


def test_row_kinds_have_the_bytes_of_the_format() -> None:
    assert [(kind.symbol, int(kind)) for kind in RowKind] == [
        ("+I", 0),
        ("-U", 1),
        ("+U", 2),
        ("-D", 3),
    ]


def test_only_before_images_and_deletes_retract() -> None:
    assert [kind.symbol for kind in RowKind if kind.is_retract] == ["-U", "-D"]


@pytest.mark.parametrize("name", ["_KEY_id", "_SEQUENCE_NUMBER", "_VALUE_KIND", "rowkind"])
def test_names_of_the_format_are_reserved(name: str) -> None:
    assert is_reserved(name)


def test_other_names_are_free() -> None:
    assert not is_reserved("KEY_id")
