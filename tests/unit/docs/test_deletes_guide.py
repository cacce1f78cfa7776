"""Every registration of the guide to deletes is admitted, and its records become what the guide shows."""

from pathlib import Path

import orjson
import pytest

from braid.records.record_columns import HEADERS
from tests.unit.docs.record_examples import check_example, examples_of

EXAMPLES = examples_of(Path("docs/guides/deletes.md"))
TYPES = (b"order", b"parcel", b"order", b"order", b"order", b"parcel")
PARTS = {"events": {HEADERS: [[{"key": "type", "value": one}] for one in TYPES]}}


@pytest.mark.parametrize(
    "example", EXAMPLES, ids=[orjson.loads(example[1])["topic"] for example in EXAMPLES]
)
def test_records_become_what_the_guide_shows(example: tuple[str, ...]) -> None:
    check_example(*example, parts=PARTS.get(orjson.loads(example[1])["topic"]))
