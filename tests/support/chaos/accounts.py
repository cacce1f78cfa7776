"""Check of the accounts: every offset is covered once, and more often only where a named move went back over it. Pure.

Two checks that do not depend on each other: the positions follow from the commits one after the other, and the ranges of
all commits together, in whatever order, cover each offset as often as the moves say.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import accumulate

from tests.support.chaos.commits import Commit, Move, Place, Range


def account_faults(
    commits: Sequence[Commit], *, ends: Mapping[Place, int], moved: Sequence[Move]
) -> list[str]:
    """Return what is wrong with the accounts of a table's streams.

    Args:
        commits: Every commit of the table, by ascending id.
        ends: The end of each partition of each topic; the streams have read all.
        moved: The moves that were asked for, in their order.
    """
    return [
        *_missing_snapshots(commits),
        *_odd_moves(commits, moved),
        *_odd_steps(commits, ends),
        *_odd_cover(commits, ends),
    ]


def repeated_ranges(moves: Sequence[Move]) -> dict[Place, list[Range]]:
    """Return the offsets that are read again when positions are moved and all is read afterwards, by place."""
    found: dict[Place, list[Range]] = {}
    for place in sorted({move.place for move in moves}):
        back = sorted(
            Range(m.after, m.before) for m in moves if m.place == place and m.after < m.before
        )
        merged: list[Range] = []
        for one in back:
            if merged and one.start <= merged[-1].end:
                merged[-1] = Range(merged[-1].start, max(merged[-1].end, one.end))
            else:
                merged.append(one)
        found[place] = merged
    return found


def _missing_snapshots(commits: Sequence[Commit]) -> list[str]:
    ids = [commit.snapshot_id for commit in commits]
    expected = list(range(1, len(ids) + 1))
    return (
        [] if ids == expected else [f"snapshots: found {ids}, expected 1 to {max(ids, default=0)}"]
    )


def _odd_moves(commits: Sequence[Commit], moved: Sequence[Move]) -> list[str]:
    def by_place(moves: Sequence[Move]) -> dict[Place, list[Move]]:
        return {place: [m for m in moves if m.place == place] for place in {m.place for m in moves}}

    named = by_place([move for commit in commits for move in commit.moves])
    asked = by_place(moved)
    return [
        f"moves of {place}: the snapshots name {named.get(place)}, asked for were {asked.get(place)}"
        for place in sorted(named.keys() | asked.keys())
        if named.get(place) != asked.get(place)
    ]


def _odd_steps(commits: Sequence[Commit], ends: Mapping[Place, int]) -> list[str]:
    wrong: list[str] = []
    at: dict[Place, int] = dict.fromkeys(ends, 0)
    accounts: dict[str, Counter[str]] = {place.stream: Counter() for place in ends}
    for commit in commits:
        where = f"snapshot {commit.snapshot_id}"
        for move in commit.moves:
            if at[move.place] != move.before:
                wrong.append(f"{where}: {move} begins elsewhere than at {at[move.place]}")
            at[move.place] = move.after
        batch = commit.batch
        if batch is not None:
            for partition, read in batch.ranges.items():
                place = Place(batch.stream, partition)
                if at[place] != read.start:
                    wrong.append(
                        f"{where}: {place} is read from {read.start}, it was at {at[place]}"
                    )
                at[place] = read.end
            accounts[batch.stream].update(batch.account)
            # No topic of the test is compacted or transactional: each offset is a record.
            offsets = sum(read.end - read.start for read in batch.ranges.values())
            if sum(batch.account.values()) != offsets:
                wrong.append(
                    f"{where}: {offsets} offsets of {batch.stream}, account {batch.account}"
                )
            if sum(batch.letters.values()) != batch.account["dead_lettered"]:
                wrong.append(f"{where}: {batch.account}, dead letters by reason {batch.letters}")
        for place, offset in commit.offsets.items():
            if at[place] != offset:
                wrong.append(f"{where}: {place} is at {offset}, its commits end at {at[place]}")
        for stream, account in commit.accounts.items():
            if Counter(account) != accounts[stream]:
                wrong.append(
                    f"{where}: account of {stream} is {dict(account)}, its batches have {dict(accounts[stream])}"
                )
    wrong += [
        f"the end: {place} is at {at[place]}, its partition ends at {end}"
        for place, end in ends.items()
        if at[place] != end
    ]
    return wrong


def _odd_cover(commits: Sequence[Commit], ends: Mapping[Place, int]) -> list[str]:
    wrong = []
    for place, end in ends.items():
        covered, expected = Counter[int](), Counter({0: 1, end: -1})
        for commit in commits:
            batch = commit.batch
            if (
                batch is not None
                and batch.stream == place.stream
                and place.partition in batch.ranges
            ):
                read = batch.ranges[place.partition]
                covered[read.start] += 1
                covered[read.end] -= 1
            for move in commit.moves:
                if move.place == place:
                    expected[move.after] += 1
                    expected[move.before] -= 1
        last = max([end, *covered, *expected])
        for offset, (found, due) in enumerate(
            zip(_heights(covered, last), _heights(expected, last), strict=True)
        ):
            if found != due:
                wrong.append(f"{place}: offset {offset} is covered {found} times, expected {due}")
    return wrong


def _heights(changes: Counter[int], last: int) -> list[int]:
    """Return the sum of all changes up to each offset."""
    return list(accumulate(changes[offset] for offset in range(last + 1)))
