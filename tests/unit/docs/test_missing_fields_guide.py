"""The example of the guide to missing fields: its records become the rows and dead letters that it shows."""

from pathlib import Path

from tests.unit.docs.record_examples import check_example, examples_of


def test_records_become_what_the_guide_shows() -> None:
    (example,) = examples_of(Path("docs/guides/missing-fields.md"))

    check_example(*example)
