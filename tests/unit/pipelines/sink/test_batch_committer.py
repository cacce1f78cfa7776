"""A micro-batch is committed within the budget that its tasks had: beyond it they have not sent their letters."""

from dataclasses import replace

import pytest

from braid.lake import BatchAccount, LimitExceeded, ReplayedLetters, StreamBatch
from braid.pipelines.kafka.cluster import KafkaCluster
from braid.pipelines.settings import DeadLetterBudget
from braid.pipelines.sink.batch_committer import BatchCommitter
from braid.pipelines.sink.task_report import TaskReport
from braid.schemas import DeadLetterBudgetSpec
from tests.unit.records.given_streams import given_spec, given_table

SPEC = given_spec({"id": "BIGINT", "a": "STRING", "version": "INT"}, buckets=1)
BUDGET = DeadLetterBudgetSpec(count=7)


def test_room_that_a_replay_makes_meanwhile_is_not_for_letters_that_were_not_sent() -> None:
    table = given_table(SPEC)
    claimed = table.committer().claim_stream(
        "s", topic="topic", topic_id="t", initial_offsets={0: 0}
    )
    first = StreamBatch(
        stream="s",
        epoch=claimed.epoch,
        batch_id=0,
        topic="topic",
        topic_id="t",
        start={0: 0},
        end={0: 7},
        account=BatchAccount(dead_lettered=7),
        dead_letters={"malformed": 7},
    )
    table.committer().commit_stream_batch([], first)
    committer = BatchCommitter(
        "db.t/s",
        table=table,
        # Nobody listens there: the budget is checked before Kafka is asked.
        cluster=KafkaCluster(bootstrap_servers="127.0.0.1:1"),
        claimed=claimed,
        budget=DeadLetterBudget(records=10, fraction=0.5),
    )
    allowed = committer.allowed_letters(BUDGET, records=9)
    replayed = ReplayedLetters(replayed={0: ((0, 7),)}, accepted=7, by_reason={"malformed": 7})
    table.committer().replay_letters([], replayed, expected=committer.position)
    now = committer.allowed_letters(BUDGET, records=9)

    with pytest.raises(LimitExceeded, match="2 of 9 records"):
        committer.commit(
            replace(first, batch_id=1, start={0: 7}, end={0: 16}),
            TaskReport(accepted=7, dead_letters={"malformed": 2}),
            allowed=allowed,
            declared_budget=BUDGET,
        )

    assert (allowed.number, now.number) == (0, 7)
    assert committer.position.offsets == {0: 7}
