"""Changes of a table that is not registered: what only a registered table has is refused."""

from typing import Any

import pytest

from braid.lake import InvalidRequest
from braid.registry.alteration.engine_changes import engine_changes
from braid.schemas import SchemaChanges


@pytest.mark.parametrize(
    "part",
    [{"keep": True}, {"sequence_group": "s"}, {"source": "a.b"}, {"unordered": "allowed"}],
)
def test_what_only_a_registered_table_has_is_refused(part: dict[str, Any]) -> None:
    added = {"change": "add_column", "column": "x", "type": "INT"}
    changes = SchemaChanges.model_validate({"changes": [added | part]}).changes

    with pytest.raises(InvalidRequest) as caught:
        engine_changes(changes)

    (problem,) = caught.value.problems
    assert problem.field == f"changes[0].{next(iter(part))}"
    assert "only registered tables support this" in problem.message
    assert engine_changes(SchemaChanges.model_validate({"changes": [added]}).changes)
