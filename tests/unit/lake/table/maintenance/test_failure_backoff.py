"""The failure log: pauses that double, and which failures are new."""

from braid.lake.files.clock import ManualClock
from braid.lake.table.maintenance.failure_backoff import RETRY_MS_MAX, FailureBackoff


def test_the_pause_doubles_up_to_a_bound_and_ends_with_a_success() -> None:
    clock = ManualClock(start_ms=0)
    log = FailureBackoff(clock)
    pauses = []
    for _ in range(12):
        log.fail("bucket 1", "damaged")
        pauses.append(log.active["bucket 1"].retry_ms)

    assert pauses[:4] == [1_000, 2_000, 4_000, 8_000]
    assert pauses[-1] == RETRY_MS_MAX
    clock.advance(ms=RETRY_MS_MAX - 1)
    assert not log.is_due("bucket 1")
    assert log.is_due("bucket 2")
    clock.advance(ms=1)
    assert log.is_due("bucket 1")

    log.succeed("bucket 1")

    assert log.error is None
    assert log.is_due("bucket 1")
    assert log.count == 12


def test_a_failure_is_new_when_it_is_the_first_or_another_one() -> None:
    log = FailureBackoff(ManualClock())

    assert log.fail("poll", "gone")
    assert not log.fail("poll", "gone")
    assert log.fail("poll", "damaged")


def test_error_is_the_newest_failure_until_its_subject_succeeds() -> None:
    log = FailureBackoff(ManualClock())
    log.fail("bucket 1", "damaged")
    log.fail("expiry", "no answer")

    assert log.error == "expiry: no answer"
    log.succeed("expiry")
    assert log.error == "bucket 1: damaged"
