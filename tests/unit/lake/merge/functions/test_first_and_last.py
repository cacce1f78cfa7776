import pyarrow as pa
import pytest

from braid.lake.errors import SchemaMismatch
from braid.lake.merge.functions.registry import function_named
from braid.lake.merge.steps import Step
from tests.unit.lake.merge.functions.given_steps import definition, folded, reduced

VALUES = [None, 1, 2, 3]
COLUMN = pa.array(VALUES, pa.int32())
LETTERS = {"+": Step.ADD, "~": Step.LATE, "-": Step.RETRACT, "=": Step.SEED}


def history(text: str) -> list[tuple[Step, int]]:
    """Return steps written as `+1 ~_ -2 =3`: add, late, retract, seed; `_` is null."""
    return [(LETTERS[word[0]], 0 if word[1] == "_" else int(word[1])) for word in text.split()]


CASES = [
    # Merge-cases F04, A31, DX14.
    ("last_value", "+1", 1),
    ("last_value", "+1 +_", None),
    ("last_value", "+1 +2 -1", None),
    ("last_value", "+1 -2 +3", 3),
    ("last_value", "+1 ~2", 1),
    ("last_value", "+_ ~2", None),
    ("last_value", "=1 ~2", 1),
    ("last_value", "=1 -1", None),
    ("last_value", "+1 -1 ~2", None),
    # Merge-cases F03, A14, A30, DX15.
    ("last_non_null_value", "+1 +_", 1),
    ("last_non_null_value", "+_ +1", 1),
    ("last_non_null_value", "+1 -_", 1),
    ("last_non_null_value", "+1 -2", None),
    ("last_non_null_value", "+1 -1 +2", 2),
    ("last_non_null_value", "+1 ~2", 1),
    ("last_non_null_value", "+_ ~2 ~3", 2),
    ("last_non_null_value", "+1 -1 ~_ ~3 ~2", 3),
    ("last_non_null_value", "=_ ~2 +_", 2),
    ("last_non_null_value", "=1 -1", None),
    # Merge-cases F05, A34 to A36.
    ("first_value", "+1 +2", 1),
    ("first_value", "+_ +2", None),
    ("first_value", "+2 ~1", 1),
    ("first_value", "+2 ~1 ~_ +3", None),
    ("first_value", "=1 +2 +3", 2),
    ("first_value", "=1", 1),
    ("first_value", "=1 ~2 +3", 1),
    ("first_value", "=1 ~2 ~3", 3),
    ("first_value", "~1 +2", None),
    # Merge-cases F06, A28, A29, DX5.
    ("first_non_null_value", "+_ +_", None),
    ("first_non_null_value", "+_ +1 +2", 1),
    ("first_non_null_value", "+3 ~2", 2),
    ("first_non_null_value", "+3 ~_", None),
    ("first_non_null_value", "+3 ~_ +2", None),
    ("first_non_null_value", "+_ ~2", 2),
    ("first_non_null_value", "+_ ~2 ~3", 2),
    ("first_non_null_value", "+_ ~2 ~3 ~1", 1),
    ("first_non_null_value", "+_ ~2 +3", 3),
    ("first_non_null_value", "=1 ~2", 1),
    ("first_non_null_value", "=1 +2", 2),
    ("first_non_null_value", "=1 ~2 +3 ~_", None),
]


@pytest.mark.parametrize(("name", "steps", "expected"), CASES)
def test_both_executions(name: str, steps: str, expected: int | None) -> None:
    assert folded(definition(name, pa.int32()), VALUES, history(steps)) == expected
    # Beside others, whose positions and steps are not its own.
    answers = reduced(name, COLUMN, [history("+1 +_"), history(steps), history("~3 +2")])
    assert answers[1] == expected


@pytest.mark.parametrize("name", ["first_value", "first_non_null_value"])
def test_a_function_forgets_the_key_before(name: str) -> None:
    """Merge-cases F05, F06 and A37."""
    function = definition(name, pa.int32())

    assert function.aggregate(function.aggregate(None, 1), 2) == 1
    function.reset()
    assert function.aggregate(1, 3) == 3


@pytest.mark.parametrize("name", ["first_value", "first_non_null_value"])
def test_first_values_have_no_retract(name: str) -> None:
    with pytest.raises(SchemaMismatch, match=rf"`{name}` of the column has no retract"):
        definition(name, pa.int32()).retract(1, 1)


def test_the_older_name_is_known() -> None:
    assert function_named("first_not_null_value") is function_named("first_non_null_value")
