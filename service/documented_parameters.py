"""Meanings of parameters by name, for the OpenAPI document: a name means the same in every operation that has it.

Routes whose parameter means something else, or needs more words, describe it themselves.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

MEANINGS: Final[Mapping[str, str]] = {
    "database": "The database of the table.",
    "table": "The table's name.",
    "stream": "The stream's name.",
    "consumer": "The consumer's name.",
    "view": "The view's name.",
    "index": "The name of the lookup index.",
    "page_size": "Largest number of entries in the answer.",
    "page_token": "`next_page_token` of the page before; the other parameters have to be the same.",
    "if-match": "`etag` of an earlier answer: the request is refused (412) if it is not that of the newest version.",
    "if-none-match": "`*`: the request is refused (412) if there is one already.",
    "idempotency-key": "A text that no other request has: the same request sent again has its effect once.",
    "last-event-id": "`id` of the last event that the client has got, as browsers send it; the subscription continues there.",
    "snapshot_id": "The id of a snapshot that is kept: it is read instead of the newest.",
    "tag": "A tag: its snapshot is read instead of the newest.",
    "timestamp": "A time, in ISO 8601 with a zone, or milliseconds since 1970: the newest snapshot committed then or before is read.",
    "after_snapshot_id": "Changes after this snapshot; 0: all that are kept.",
    "after_tag": "Changes after the snapshot of this tag.",
    "after_timestamp": "Changes after the newest snapshot committed at or before this time.",
    "until_snapshot_id": "Changes up to this snapshot. Left out: up to the newest.",
    "until_tag": "Changes up to the snapshot of this tag.",
    "until_timestamp": "Changes up to the newest snapshot committed at or before this time.",
    "minutes": "How far back the answer goes, minutes.",
    "mode": "`changelog` requires a changelog; `delta` is the written records even if there is one; `auto` takes what there is.",
    "columns": "Names of columns, separated by commas. Left out: all.",
    "snapshot": "The id of a snapshot that is kept.",
    "operation": "The id of an operation.",
    "runner": "The runner's name.",
    "state": "Only operations in this state.",
    "reason": "Only dead letters with this reason. May be repeated.",
    "partition": "Only records of this Kafka partition.",
    "offset_start": "Only records from this offset on.",
    "offset_end": "Only records before this offset.",
    "limit": "Largest number of entries in the answer.",
    "offset": "Number of entries that are left out.",
    "last": "Only the newest entries, so many.",
    "verb": "`start`, `pause`, `resume`, `restart` or `stop`.",
    "keep_data": "Whether the files of the table stay.",
    "actor": "Only changes by this name.",
    "action": "Only changes of this kind.",
}


def describe_parameters(parameters: Iterable[dict[str, Any]]) -> None:
    """Give the parameters of an operation that have no description the meaning of their name."""
    for parameter in parameters:
        if parameter["name"] in MEANINGS:
            parameter.setdefault("description", MEANINGS[parameter["name"]])
