"""Worked examples of the merge engines, for their pages."""

from collections.abc import Mapping

from braid.lake import MergeEngine
from docs.generator.worked_examples import WorkedExample

_PARCEL = {"id": "INT", "version": "INT", "carrier": "STRING", "weight": "INT"}
_SHOWN = ("version", "carrier", "weight")

ENGINE_EXAMPLES: Mapping[MergeEngine, tuple[WorkedExample, ...]] = {
    MergeEngine.DEDUPLICATE: (
        WorkedExample(
            title="The record that arrives last replaces the row",
            columns=_PARCEL,
            options={"merge-engine": "deduplicate"},
            records=[("+I", 1, 2, "ACME", 5), ("+I", 1, 1, "UPS", None), ("-D", 1, 3, None, None)],
            shown=_SHOWN,
        ),
        WorkedExample(
            title="The record with the largest version replaces the row",
            columns=_PARCEL,
            options={"merge-engine": "deduplicate", "sequence.field": "version"},
            records=[("+I", 1, 2, "ACME", 5), ("+I", 1, 1, "UPS", None), ("-D", 1, 3, None, None)],
            shown=_SHOWN,
        ),
    ),
    MergeEngine.PARTIAL_UPDATE: (
        WorkedExample(
            title="Values that are not null replace the existing ones",
            columns=_PARCEL,
            options={"merge-engine": "partial-update"},
            records=[
                ("+I", 1, 2, "ACME", None),
                ("+I", 1, None, None, 5),
                ("+I", 1, 1, "UPS", None),
            ],
            shown=_SHOWN,
        ),
        WorkedExample(
            title="A sequence group: older records are ignored, newer ones replace the whole group",
            columns=_PARCEL,
            options={
                "merge-engine": "partial-update",
                "fields.version.sequence-group": "carrier,weight",
            },
            records=[
                ("+I", 1, 2, "ACME", 5),
                ("+I", 1, 1, "UPS", 4),
                ("+I", 1, 3, "DHL", None),
                ("+I", 1, None, "FedEx", 9),
                ("-D", 1, 4, None, None),
            ],
            shown=_SHOWN,
        ),
    ),
    MergeEngine.AGGREGATION: (
        WorkedExample(
            columns=_PARCEL,
            options={
                "merge-engine": "aggregation",
                "fields.version.aggregate-function": "max",
                "fields.version.ignore-retract": "true",
                "fields.weight.aggregate-function": "sum",
            },
            records=[
                ("+I", 1, 2, "ACME", 5),
                ("+I", 1, 1, None, 4),
                ("+I", 1, 3, "UPS", None),
                ("-U", 1, 2, None, 5),
            ],
            shown=_SHOWN,
        ),
    ),
    MergeEngine.FIRST_ROW: (
        WorkedExample(
            columns=_PARCEL,
            options={"merge-engine": "first-row"},
            records=[("+I", 1, 2, "ACME", 5), ("+I", 1, 3, "UPS", 4)],
            shown=_SHOWN,
            is_compacted=True,
        ),
    ),
}
"""By engine; the rows of first-row tables are those after a compaction."""
