"""One table on which Java and we take turns, and what must hold after every turn.

After each turn Java and our machines read the same rows, those of the table's twin, now and at an
older snapshot. Whoever has the turn writes or compacts; on tables whose rows do not depend on that
he compacts as he likes, in passing or on demand, expires snapshots and makes tags.
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from braid.lake import LakeError, Machine, ReadAt, SystemClock, Table
from tests.conformance.case import Case
from tests.conformance.execute import write_rows
from tests.interop.changelog_check import ChangelogCheck
from tests.interop.java_driver import JavaDriver
from tests.interop.ours import open_table
from tests.interop.twins import Rows, Twin, difference_of, hides_new_rows

COMPACTS_IN_PASSING: Mapping[str, str] = {"write-only": "false"}

FULL_TURNS = ("write", "write", "compact")
"""Turns after which a twin of Java's can do the same: all its merges take the same records."""

FREE_TURNS = (
    *FULL_TURNS,
    "write and compact",
    "compact some",
    "expire",
    "tag",
    "delete tag",
    "roll back",
)

ONLY_JAVA = {"write and compact"}
"""What Java does in passing."""


@dataclass(frozen=True, kw_only=True)
class Moment:
    """What is known of a snapshot: what Java read then, and how to go back to it."""

    rows: Rows
    twin: int
    changes: dict[str, list[Any]]
    is_all_visible: bool


@dataclass(kw_only=True)
class Alternation:
    """A table under way.

    Attributes:
        case: Declares it.
        path: Its directory.
        java: Takes its turns.
        twin: Knows the rows.
        chance: Draws who does what.
        told: What was done, for the message of a failure.
    """

    case: Case
    path: Path
    java: JavaDriver
    twin: Twin
    chance: random.Random
    told: list[str] = field(default_factory=list)
    _seen: dict[int, Moment] = field(default_factory=dict)
    _tags: dict[str, Moment] = field(default_factory=dict)
    _is_all_visible: bool = True

    def __post_init__(self) -> None:
        """Open the table, which is there and empty."""
        self._table = open_table(self.path)
        self._changelog = ChangelogCheck(self.case, self.java, self.path)

    def turn(self, what: str, rows: Rows) -> None:
        """Let one of both do something, and look at the table.

        Args:
            what: One of `FREE_TURNS`.
            rows: For a turn that writes.
        """
        try:
            self._turn(what, rows)
        except Exception as error:
            error.add_note(self._story("what was done:"))
            raise

    def _turn(self, what: str, rows: Rows) -> None:
        is_java = what in ONLY_JAVA or self.chance.random() < 0.5
        if what.startswith("write"):
            self.twin.write(rows)
        if what == "compact":
            self.twin.compact()
        number = self.chance.choice(sorted(self._seen)) if self._seen else 0
        to = f" to {number}" if what == "roll back" else ""
        self.told.append(f"{'Java' if is_java else 'ours'}: {what}{to}")
        if is_java:
            self._let_java(what, rows, number)
        else:
            self._do(what, rows, number)
        if what.startswith("write") or what == "compact":
            self._is_all_visible = what == "compact" or not hides_new_rows(self._table)
        if what == "roll back":
            self._go_back(number)
        self.look()
        if what == "compact":
            rows_now = self._read(Machine.COLUMN)
            self._assert_none(self._changelog.difference_from(rows_now), "changes")

    def look(self) -> None:
        """Check the newest rows, and those of an older snapshot and tag."""
        newest = self._ours().latest_snapshot()
        assert newest is not None
        rows = self.java.rows(self.path)
        read = {machine: self._read(machine) for machine in Machine}
        for machine, ours in read.items():
            self._assert_none(difference_of(self.case, rows, ours), f"{machine}, newest rows")
        if self._is_all_visible:
            self._assert_none(self.twin.difference(read[Machine.COLUMN]), "the twin")
        self._assert_none(self._changelog.follow(self._ours()), "changes")
        self._seen[newest.id] = Moment(
            rows=rows,
            twin=self.twin.mark(),
            changes=self._changelog.mark(),
            is_all_visible=self._is_all_visible,
        )
        self._look_back()

    def _look_back(self) -> None:
        kept = {int(number) for number, _ in self.java.do("snapshots", self.path)}
        self._seen = {number: moment for number, moment in self._seen.items() if number in kept}
        number = self.chance.choice(sorted(self._seen))
        old = self._ours().scan(at=number).to_arrow()
        found = difference_of(self.case, self._seen[number].rows, old)
        self._assert_none(found, f"snapshot {number}, read later")
        if self._tags:
            name = self.chance.choice(sorted(self._tags))
            expected = self._tags[name].rows
            assert self.java.rows(self.path, tag=name) == expected, self._story(name)
            tagged = self._ours().scan(at=ReadAt(tag=name)).to_arrow()
            self._assert_none(difference_of(self.case, expected, tagged), name)

    def _go_back(self, number: int) -> None:
        """Let what is known be that of a snapshot to which the table was rolled back."""
        moment = self._seen[number]
        self.twin.go_back(moment.twin)
        self._changelog.go_back(number, moment.changes)
        self._is_all_visible = moment.is_all_visible
        self._seen = {n: moment for n, moment in self._seen.items() if n <= number}
        names = {tag.name for tag in self._ours().tags()}
        self._tags = {name: moment for name, moment in self._tags.items() if name in names}

    def _let_java(self, what: str, rows: Rows, number: int) -> None:
        match what:
            case "write":
                self.java.write(self.path, rows)
            case "write and compact":
                self.java.write(self.path, rows, options=COMPACTS_IN_PASSING)
            case "compact":
                self.java.do("compact", self.path, mode="full")
            case "compact some":
                self.java.do("compact", self.path, mode="normal")
            case "expire":
                self.java.do("expire", self.path, retain=self.chance.randint(1, 4))
            case "tag":
                self.java.do("tag", self.path, name=self._new_tag())
            case "delete tag":
                if self._tags:
                    self.java.do("delete_tag", self.path, name=self._old_tag())
            case "roll back":
                self.java.do("rollback", self.path, snapshot=number)
            case other:
                raise AssertionError(other)

    def _do(self, what: str, rows: Rows, number: int) -> None:
        machine = self.chance.choice(list(Machine))
        match what:
            case "write":
                write_rows(self._ours(), rows, self.case.arrow_schema, machine=machine)
            case "compact":
                result = self._ours().compact(machine=machine)
                assert result.dropped == (), self.told
            case "compact some":
                result = self._ours().compact(full=False, machine=machine)
                assert result.dropped == (), self.told
            case "expire":
                far = SystemClock().now_ms() + 1_000_000
                self._ours().expire(retain_min=self.chance.randint(1, 4), older_than_ms=far)
            case "tag":
                self._ours().create_tag(self._new_tag())
            case "delete tag":
                if self._tags:
                    self._ours().delete_tag(self._old_tag())
            case "roll back":
                self._ours().rollback(snapshot_id=number)
            case other:
                raise AssertionError(other)

    def _new_tag(self) -> str:
        name = f"tag-{len(self.told)}"
        self._tags[name] = self._seen[max(self._seen)]
        return name

    def _old_tag(self) -> str:
        name = self.chance.choice(sorted(self._tags))
        del self._tags[name]
        return name

    def _ours(self) -> Table:
        """Return the table, now and then opened anew: caches must not matter."""
        if self.chance.random() < 0.3:
            self._table = open_table(self.path)
        return self._table

    def _read(self, machine: Machine) -> pa.Table:
        try:
            return self._ours().scan(machine=machine).to_arrow()
        except LakeError as error:
            raise AssertionError(self._story("we cannot read it")) from error

    def _assert_none(self, found: str | None, what: str) -> None:
        assert found is None, self._story(f"{what}: {found}")

    def _story(self, what: Any) -> str:
        return f"{what}\n{self.path}, {dict(self.case.options)}\n" + "\n".join(self.told)
