"""Commits are found by identity, and each snapshot is read once."""

from dataclasses import replace

import pytest

from braid.lake.commit.identity_log import CommitIdentity, IdentityLog
from braid.lake.errors import CommitUnknown
from braid.lake.files.paths import TablePaths
from braid.lake.files.storage.memory import MemoryFileIO
from braid.lake.format.snapshot import CommitKind, Snapshot
from braid.lake.snapshots.manifest_store import ManifestStore
from braid.lake.snapshots.snapshot_store import SnapshotStore
from tests.support.committing import given_table
from tests.support.faulty_file_io import FaultyFileIO
from tests.support.foreign_engine import commit_foreign


class Chain:
    """A chain of empty snapshots, and a log that counts its reads."""

    def __init__(self) -> None:
        self.inner = MemoryFileIO()
        self.file_io = FaultyFileIO(self.inner)
        self.paths: TablePaths = given_table(self.inner)
        self.log = IdentityLog(
            SnapshotStore(self.file_io, self.paths), ManifestStore(self.inner, self.paths)
        )
        self.latest: Snapshot | None = None

    def commit(self, user: str, *identifiers: int, uuid: str | None = None) -> None:
        for identifier in identifiers:
            self.latest = commit_foreign(
                self.inner,
                self.paths,
                commit_user=user,
                commit_identifier=identifier,
                uuid=uuid or f"{user}-{identifier}",
            )

    def find(self, user: str, identifier: int, kind: CommitKind = CommitKind.APPEND) -> int | None:
        identity = CommitIdentity(user=user, identifier=identifier, kind=kind)
        found = self.log.find(identity, self.latest)
        return None if found is None else found.id

    def reads(self) -> int:
        count = len(self.file_io.calls)
        self.file_io.calls.clear()
        return count


def test_a_table_without_snapshots_has_no_commit() -> None:
    assert Chain().find("u", 1) is None


def test_a_commit_is_found_by_user_number_and_kind() -> None:
    chain = Chain()
    chain.commit("u", 1, 2)
    chain.commit("v", 2)

    assert chain.find("u", 1) == 1
    assert chain.find("u", 2) == 2
    assert chain.find("v", 2) == 3
    assert chain.find("v", 1) is None
    assert chain.find("u", 3) is None
    assert chain.find("u", 2, CommitKind.COMPACT) is None


def test_the_walk_ends_at_a_smaller_number_of_the_user() -> None:
    chain = Chain()
    chain.commit("v", *range(50))
    chain.commit("u", 1)
    chain.reads()

    assert chain.find("u", 2) is None
    assert chain.reads() == 0


def test_the_next_walk_reads_only_newer_snapshots() -> None:
    chain = Chain()
    chain.commit("v", *range(50))
    assert chain.find("u", 1) is None
    assert chain.reads() == 49

    chain.commit("v", 51, 52)

    assert chain.find("u", 1) is None
    assert chain.reads() == 2
    assert chain.find("u", 2) is None
    assert chain.reads() == 0


def test_numbers_that_were_passed_are_looked_for_everywhere() -> None:
    chain = Chain()
    chain.commit("u", 1, 5)
    assert chain.find("u", 7) is None

    assert chain.find("u", 1) == 1
    assert chain.find("u", 3) is None


def test_a_rollback_below_the_searched_snapshots_is_noticed() -> None:
    chain = Chain()
    chain.commit("v", *range(5))
    assert chain.find("u", 1) is None
    for number in (4, 5):
        chain.inner.delete(chain.paths.snapshot(number))

    chain.commit("u", 1)
    chain.commit("v", 9, uuid="after-the-rollback")

    assert chain.latest is not None
    assert chain.latest.id == 5
    assert chain.find("u", 1) == 4


def test_the_walk_ends_where_snapshots_have_expired() -> None:
    chain = Chain()
    chain.commit("u", 1, 2)
    chain.commit("v", 1, 2)
    for number in (1, 2):
        chain.inner.delete(chain.paths.snapshot(number))

    assert chain.find("u", 2) is None


def test_a_commit_of_unknown_outcome_is_searched_down_to_where_its_call_began() -> None:
    chain = Chain()
    chain.commit("other", 1, 2, 3, 4)
    chain.inner.delete(chain.paths.snapshot(2))
    identity = CommitIdentity(user="u", identifier=1, kind=CommitKind.APPEND)

    assert chain.log.find(identity, chain.latest, unsettled_above=2) is None
    with pytest.raises(CommitUnknown, match="commit 1 of `v`"):
        chain.log.find(replace(identity, user="v"), chain.latest, unsettled_above=1)
