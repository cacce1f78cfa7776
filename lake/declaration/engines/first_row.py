"""Declaration of the first-row engine, as data (`EngineDeclaration`); merging is in `braid.lake.merge`.

Source: merge-semantics 2.2.
"""

from typing import Final

from braid.lake.declaration.engine_declaration import EngineConflict, EngineDeclaration, KindEffect
from braid.lake.declaration.engines.common import (
    MERGING,
    NO_EFFECT,
    ORDER_BY_SNAPSHOT,
    SNAPSHOT_ORDERING,
    WRITE_OPTIONS,
)
from braid.lake.merge.compatibility import Compatibility
from braid.lake.options.table_options import MergeEngine

FIRST_ROW: Final = EngineDeclaration(
    engine=MergeEngine.FIRST_ROW,
    summary="The first record of a key stays; later ones are dropped.",
    effects=(
        KindEffect(
            kinds="+I +U", when="", effect="The record is kept if the key has no record yet."
        ),
        KindEffect(
            kinds="-U -D", when="ignore-delete", effect="The record is dropped when written."
        ),
        KindEffect(
            kinds="-U -D",
            when="without ignore-delete",
            effect="The record is refused when written.",
        ),
    ),
    result_kind="the first record's",
    options=(*WRITE_OPTIONS, SNAPSHOT_ORDERING),
    conflicts=(
        EngineConflict(
            option="sequence.field",
            excludes="merge-engine = first-row",
            because="the first record written stays, whatever its values are",
        ),
        EngineConflict(
            option="changelog-producer",
            excludes="merge-engine = first-row",
            because="a compaction determines the first record by a lookup of existing keys: only "
            "none and lookup are possible",
        ),
        EngineConflict(
            option="deletion-vectors.enabled",
            excludes="merge-engine = first-row",
            because="no row is ever replaced, so there is nothing to mark as deleted",
        ),
    ),
    anomalies=(
        "If the first record is a +U, it keeps this kind; only readers of changes see the kind.",
    ),
    compatibility=(
        MERGING,
        Compatibility(
            subject="-U and -D without ignore-delete",
            verdict="stricter",
            why="Paimon stores them, and they hide every later row, until a compaction refuses "
            "them.",
        ),
        ORDER_BY_SNAPSHOT,
        NO_EFFECT,
    ),
    many_writers="One stream only: with several, the job that commits first would decide which "
    "record is the first.",
)
