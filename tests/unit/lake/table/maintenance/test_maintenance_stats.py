"""What fails again and again is tried less and less often, and told once."""

from lake.table.maintenance.maintenance_stats import RETRY_MS_MAX, MaintenanceStats


def test_the_pause_doubles_up_to_a_bound_and_ends_with_a_success() -> None:
    stats = MaintenanceStats()
    pauses = []
    for _ in range(12):
        stats.fail("bucket 1", "damaged", now_ms=0)
        pauses.append(stats.active_failures["bucket 1"].retry_ms)

    assert pauses[:4] == [1_000, 2_000, 4_000, 8_000]
    assert pauses[-1] == RETRY_MS_MAX
    assert not stats.is_due("bucket 1", now_ms=RETRY_MS_MAX - 1)
    assert stats.is_due("bucket 1", now_ms=RETRY_MS_MAX)
    assert stats.is_due("bucket 2", now_ms=0)

    stats.succeed("bucket 1")

    assert stats.error is None
    assert stats.is_due("bucket 1", now_ms=0)
    assert stats.failures == 12


def test_a_failure_is_news_when_it_is_the_first_or_another_one() -> None:
    stats = MaintenanceStats()

    assert stats.fail("look", "gone", now_ms=0)
    assert not stats.fail("look", "gone", now_ms=0)
    assert stats.fail("look", "damaged", now_ms=0)


def test_the_newest_of_what_fails_is_told_until_that_succeeds() -> None:
    stats = MaintenanceStats()
    stats.fail("bucket 1", "damaged", now_ms=0)
    stats.fail("expiry", "no answer", now_ms=0)

    assert stats.error == "expiry: no answer"
    stats.succeed("expiry")
    assert stats.error == "bucket 1: damaged"
