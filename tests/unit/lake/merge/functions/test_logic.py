import itertools

import pyarrow as pa
import pytest

from braid.lake.errors import SchemaMismatch
from braid.lake.format.type_codec import parse_type
from braid.lake.merge.functions.logic import DECLARATIONS
from tests.unit.lake.merge.functions.given_steps import adds, definition, reduced

VALUES = [True, False, None]
TRUTHS = {"bool_and": all, "bool_or": any}


@pytest.mark.parametrize("name", TRUTHS)
def test_null_counts_as_nothing(name: str) -> None:
    """Merge-cases F01, F02 and A33."""
    function, column = definition(name, pa.bool_()), pa.array(VALUES)
    for rows in itertools.product(range(3), repeat=3):
        flags = [VALUES[row] for row in rows]
        known = [flag for flag in flags if flag is not None]
        expected = TRUTHS[name](known) if known else None

        late, accumulated = function.aggregate_late(flags[0], flags[1]), None
        for flag in flags:
            accumulated = function.aggregate(accumulated, flag)
        assert accumulated == expected
        assert function.aggregate_late(late, flags[2]) == expected
        assert reduced(name, column, adds(rows)) == [expected]


@pytest.mark.parametrize("name", TRUTHS)
def test_nothing_can_be_taken_back(name: str) -> None:
    with pytest.raises(SchemaMismatch, match=rf"`{name}` of the column has no retract"):
        definition(name, pa.bool_()).retract(True, True)


def test_only_booleans_are_accepted() -> None:
    assert all(declaration.accepts(parse_type("BOOLEAN NOT NULL")) for declaration in DECLARATIONS)
    assert not any(declaration.accepts(parse_type("TINYINT")) for declaration in DECLARATIONS)
