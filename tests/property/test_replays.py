"""However letters come about and are replayed, the table ends as if every record had been good from the start."""

from typing import Any

from hypothesis import HealthCheck, given, settings, strategies as st

from braid.pipelines.replay.replay_run import ReplayRun
from braid.schemas import AggregateSpec, LetterSelection
from tests.support.replay_bed import GivenTarget, ReplayBed
from tests.unit.records.given_streams import given_plan, given_spec

_COLUMNS = {"id": "BIGINT", "n": "BIGINT", "a": "STRING", "version": "INT"}
_NARROW = {"max_message_bytes": 90}
_PAD = "x" * 100

RECORDS = st.lists(
    st.fixed_dictionaries(
        {"id": st.integers(0, 2), "version": st.integers(0, 2)},
        # A record with a pad is refused until the stream is mended.
        optional={"pad": st.just(_PAD)},
    ),
    min_size=1,
    max_size=4,
)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("commit"), st.integers(0, 1), RECORDS),
        st.tuples(st.just("lose"), st.integers(0, 1), RECORDS),  # killed before the commit
        st.tuples(st.just("replay"), st.integers(0, 4), st.integers(0, 6)),
    ),
    min_size=2,
    max_size=8,
)


def _spec() -> Any:
    spec = given_spec(_COLUMNS, buckets=1)
    number = spec.columns[1].model_copy(update={"aggregate": AggregateSpec(function="sum")})
    return spec.model_copy(update={"columns": (spec.columns[0], number, *spec.columns[2:])})


def _shown(bed: ReplayBed) -> list[tuple[Any, ...]]:
    names = ("id", "n", "a", "version", "s__offset", "s__partition")
    return [tuple(row[name] for name in names) for row in bed.rows()]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(steps=STEPS, is_mended_early=st.booleans())
def test_replays_end_as_if_every_record_had_been_good(
    steps: list[tuple[Any, ...]], is_mended_early: bool
) -> None:
    spec = _spec()
    mended = given_plan(spec)
    bed, model = ReplayBed(spec, **_NARROW), ReplayBed(spec)
    number = 0
    lost: dict[int, list[dict[str, Any]]] = {}
    for kind, first, second in steps:
        if kind == "replay":
            chosen = {"offsets": {"0": {"start": first, "end": first + second + 1}}}
            run = ReplayRun(
                LetterSelection.model_validate(chosen if second % 2 else {}),
                source=bed.letters,
                targets=GivenTarget(bed, mended, reads_max=second),
                chunk_letters=1 + first,
            )
            try:
                run.run(finished_ms=lambda: 0)
            except KeyboardInterrupt:
                continue
            continue
        # Records of a lost batch are read again, at the same offsets.
        records = lost.pop(first, None)
        if records is None:
            records = []
            for record in second:
                number += 1
                records.append({**record, "n": 1 << number, "a": f"{number}"})
        if kind == "lose":
            bed.ingest(records, partition=first, is_committed=False)
            bed.claim()
            lost[first] = records
            continue
        plan = mended if is_mended_early and number % 2 else None
        bed.ingest(records, partition=first, plan=plan)
        model.ingest(records, partition=first)

    bed.replay(mended, chunk_letters=3)

    assert _shown(bed) == _shown(model)
    position = bed.position
    assert position.letters.replayed_records == position.account.dead_lettered
    assert position.letters.replayed_by_reason == position.letters.by_reason
