"""Declaration of the deduplicate engine, as data (`EngineDeclaration`); merging is in `braid.lake.merge`.

Source: merge-semantics 2.1.
"""

from typing import Final

from braid.lake.declaration.engine_declaration import EngineDeclaration, KindEffect
from braid.lake.declaration.engines.common import (
    MAP_ORDER,
    MERGING,
    NO_EFFECT,
    ORDER_BY_SNAPSHOT,
    ORDER_OPTIONS,
    TWO_ORDERS,
    WRITE_OPTIONS,
)
from braid.lake.options.table_options import MergeEngine

DEDUPLICATE: Final = EngineDeclaration(
    engine=MergeEngine.DEDUPLICATE,
    summary="The last record of a key replaces the whole row.",
    effects=(
        KindEffect(kinds="+I +U", when="", effect="The record replaces the row."),
        KindEffect(kinds="-U -D", when="", effect="The row is gone."),
        KindEffect(
            kinds="-U -D", when="ignore-delete", effect="The record is dropped when written."
        ),
    ),
    result_kind="the last record's",
    options=(*WRITE_OPTIONS, *ORDER_OPTIONS),
    conflicts=(TWO_ORDERS,),
    anomalies=(
        "A -U removes the row, as a -D does, until a +U of the key follows, because the two "
        "halves of an update are separate records. Set ignore-update-before if the source sends "
        "both.",
    ),
    compatibility=(MERGING, MAP_ORDER, ORDER_BY_SNAPSHOT, NO_EFFECT),
    many_writers="One stream only: whole rows replace each other, so the row of one stream would "
    "erase the values of another.",
)
