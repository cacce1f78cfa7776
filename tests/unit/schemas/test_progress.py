"""Progress documents as bytes and back."""

from braid.schemas import Account, RunnerProgress, StreamProgress, StreamState


def test_offsets_by_partition_survive_json() -> None:
    progress = RunnerProgress(
        runner="r1",
        started_ms=1,
        updated_ms=2,
        streams={
            "shop.orders/pay": StreamProgress(
                state=StreamState.RUNNING, offsets={0: 5, 11: 7}, end_offsets={0: 9, 11: 7}
            )
        },
    )

    assert RunnerProgress.model_validate_json(progress.model_dump_json()) == progress


def test_the_records_of_an_account_are_the_sum_of_what_became_of_them() -> None:
    account = Account(accepted=5, folded=2, ignored=1, dead_lettered=3)

    assert account.records == 11
