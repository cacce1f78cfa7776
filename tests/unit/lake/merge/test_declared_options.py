import pytest

from braid.lake.merge.declared_options import (
    SequenceGroup,
    declared_functions,
    declared_groups,
    function_key,
    ignores_retract,
    is_group_key,
    is_well_formed_group_key,
    options_by_column,
    removing_columns,
    split_names,
)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a,b", ("a", "b")),
        ("a, b", ("a", " b")),
        ("a,,b", ("a", "", "b")),
        ("a,b,,", ("a", "b")),
        ("", ("",)),
    ],
)
def test_names_are_split_as_java_splits_them(text: str, names: tuple[str, ...]) -> None:
    assert split_names(text) == names


def test_groups_come_in_the_order_of_their_keys() -> None:
    groups = declared_groups(
        {"fields.h,i.sequence-group": "c", "fields.g.sequence-group": "a,b", "bucket": "1"}
    )

    assert list(groups.values()) == [
        SequenceGroup(ordering=("g",), protected=("a", "b")),
        SequenceGroup(ordering=("h", "i"), protected=("c",)),
    ]


@pytest.mark.parametrize(
    ("key", "meant", "well_formed"),
    [
        ("fields.g.sequence-group", True, True),
        ("fields.g.xsequence-group", True, False),
        ("fieldsg.sequence-group", True, False),
        ("fields.sequence-group", True, False),
        ("fields.g.aggregate-function", False, False),
    ],
)
def test_a_malformed_group_key_differs_from_another_option(
    key: str, meant: bool, well_formed: bool
) -> None:
    assert is_group_key(key) is meant
    assert is_well_formed_group_key(key) is well_formed


def test_a_column_has_its_own_function_or_the_tables() -> None:
    options = {"fields.default-aggregate-function": "max", "fields.a.aggregate-function": "sum"}

    assert function_key(options, "a") == "fields.a.aggregate-function"
    assert function_key(options, "b") == "fields.default-aggregate-function"
    assert function_key({}, "b") is None
    assert declared_functions({**options, "fields.a.ignore-retract": "true"}) == {
        "fields.a.aggregate-function": "sum",
        "fields.default-aggregate-function": "max",
    }


def test_flags_and_lists_default_to_nothing() -> None:
    assert ignores_retract({"fields.a.ignore-retract": "TRUE"}, "a")
    assert not ignores_retract({}, "a")
    assert removing_columns({}) == ()
    assert removing_columns({"partial-update.remove-record-on-sequence-group": "g,h"}) == ("g", "h")


def test_options_are_found_by_column_whatever_dots_its_name_has() -> None:
    found = options_by_column(
        {
            "fields.a.list-agg-delimiter": ";",
            "fields.a.distinct": "true",
            "fields.a.aggregate-function": "listagg",
            "fields.a.ignore-retract": "true",
            "fields.a.b.distinct": "false",
            "fields.g.sequence-group": "a",
            "bucket": "1",
        }
    )

    assert found == {
        "a": (("b.distinct", "false"), ("distinct", "true"), ("list-agg-delimiter", ";")),
        "a.b": (("distinct", "false"),),
    }
