"""What fails again and again is tried less and less often, and told once."""

from lake.table.maintenance.maintenance_stats import RETRY_MS_MAX, TableUpkeep


def test_the_pause_doubles_up_to_a_bound_and_ends_with_a_success() -> None:
    upkeep = TableUpkeep()
    pauses = []
    for _ in range(12):
        upkeep.fail("bucket 1", "damaged", now_ms=0)
        pauses.append(upkeep.troubles["bucket 1"].retry_ms)

    assert pauses[:4] == [1_000, 2_000, 4_000, 8_000]
    assert pauses[-1] == RETRY_MS_MAX
    assert not upkeep.is_due("bucket 1", now_ms=RETRY_MS_MAX - 1)
    assert upkeep.is_due("bucket 1", now_ms=RETRY_MS_MAX)
    assert upkeep.is_due("bucket 2", now_ms=0)

    upkeep.succeed("bucket 1")

    assert upkeep.error is None
    assert upkeep.is_due("bucket 1", now_ms=0)
    assert upkeep.failures == 12


def test_a_failure_is_news_when_it_is_the_first_or_another_one() -> None:
    upkeep = TableUpkeep()

    assert upkeep.fail("look", "gone", now_ms=0)
    assert not upkeep.fail("look", "gone", now_ms=0)
    assert upkeep.fail("look", "damaged", now_ms=0)


def test_the_newest_of_what_fails_is_told_until_that_succeeds() -> None:
    upkeep = TableUpkeep()
    upkeep.fail("bucket 1", "damaged", now_ms=0)
    upkeep.fail("expiry", "no answer", now_ms=0)

    assert upkeep.error == "expiry: no answer"
    upkeep.succeed("expiry")
    assert upkeep.error == "bucket 1: damaged"
