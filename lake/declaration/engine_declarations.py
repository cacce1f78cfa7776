"""Declarations of all merge engines, by engine, and why an engine excludes an option.

The declarations say what an engine does with two or more records of a key. A single record of a key
keeps its values and its kind (merge-semantics 1.6), except in compactions that look up old rows,
such as those of first-row tables. If an engine merges a single record too, its declaration gives
the effect.

Source: merge-semantics 1.3, 1.6, 2, 3, 5.
"""

from typing import Final

from braid.lake.declaration.engine_declaration import EngineDeclaration
from braid.lake.declaration.engines.aggregation import AGGREGATION
from braid.lake.declaration.engines.deduplicate import DEDUPLICATE
from braid.lake.declaration.engines.first_row import FIRST_ROW
from braid.lake.declaration.engines.partial_update import PARTIAL_UPDATE
from braid.lake.options.table_options import MergeEngine

ENGINES: Final[dict[MergeEngine, EngineDeclaration]] = {
    declaration.engine: declaration
    for declaration in (DEDUPLICATE, PARTIAL_UPDATE, AGGREGATION, FIRST_ROW)
}
"""The engines, in the order of the reference pages."""


def why_excluded(engine: MergeEngine, option: str, excludes: str) -> str:
    """Return why two declarations exclude each other under the engine, as text of a hint.

    Requires: The engine declares the conflict.
    """
    return next(
        conflict.because
        for conflict in ENGINES[engine].conflicts
        if (conflict.option, conflict.excludes) == (option, excludes)
    )
