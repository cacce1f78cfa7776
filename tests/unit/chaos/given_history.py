"""A small history of one stream that is right: its topic, the commits of its table, and its dead letters."""

from dataclasses import replace

from tests.support.chaos.commits import Batch, Commit, Move, Place, Range
from tests.support.chaos.letters import Letter
from tests.support.chaos.records import Fate, Placed, RecordSource
from tests.support.chaos.streams import ORDERS, topic_of

PLACE = Place(ORDERS, 0)
END = 100
BACK = Move(place=PLACE, before=60, after=30)


def given_topic() -> list[Placed]:
    """A hundred records, of which some are refused, in one partition."""
    drawn = RecordSource(9).draw(ORDERS, END)
    return [
        Placed(partition=0, offset=offset, record=replace(record, partition=0))
        for offset, record in enumerate(drawn)
    ]


def given_commits() -> list[Commit]:
    """All of it read in three batches; between them a claim, and a move back that is named."""
    account = {"accepted": 0, "folded": 0, "ignored": 0, "dead_lettered": 0}
    commits: list[Commit] = []

    def add(offset: int, batch: Batch | None = None, moves: tuple[Move, ...] = ()) -> None:
        for name, count in (batch.account if batch else {}).items():
            account[name] += count
        commits.append(
            Commit(
                snapshot_id=len(commits) + 1,
                batch=batch,
                moves=moves,
                offsets={PLACE: offset},
                accounts={ORDERS: dict(account)},
            )
        )

    add(0)
    add(40, _batch("1.0.0", 0, 40))
    add(60, _batch("1.1.0", 40, 60))
    add(30, moves=(BACK,))
    add(100, _batch("3.0.0", 30, 100))
    return commits


def given_letters() -> list[Letter]:
    """The dead letters of these batches, and those of an attempt that was not committed."""
    return [
        _letter(one, attempt)
        for attempt, start, end in (
            ("1.0.0", 0, 40),
            ("1.1.0", 40, 60),
            ("2.0.0", 60, 100),
            ("3.0.0", 30, 100),
        )
        for one in _refused(start, end)
    ]


def _refused(start: int, end: int) -> list[Placed]:
    return [one for one in given_topic()[start:end] if one.record.fate is not Fate.ROW]


def _letter(one: Placed, attempt: str) -> Letter:
    return Letter(
        key=one.record.key,
        value=one.record.value,
        headers=one.record.headers,
        added={
            "__connect.errors.topic": topic_of(ORDERS),
            "__connect.errors.partition": str(one.partition),
            "__connect.errors.offset": str(one.offset),
            "braid.reason": str(one.record.reason),
            "braid.attempt": attempt,
        },
    )


def _batch(attempt: str, start: int, end: int) -> Batch:
    letters: dict[str, int] = {}
    for one in _refused(start, end):
        letters[str(one.record.reason)] = letters.get(str(one.record.reason), 0) + 1
    refused = sum(letters.values())
    return Batch(
        stream=ORDERS,
        attempt=attempt,
        ranges={0: Range(start, end)},
        account={
            "accepted": end - start - refused,
            "folded": 0,
            "ignored": 0,
            "dead_lettered": refused,
        },
        letters=letters,
    )
