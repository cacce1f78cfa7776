"""The assignment: the document that says which runner has which stream. Values and pure changes.

```
runners   by name    the process that has the name now, and what it may host
streams   by key     the process that has the stream
drained              names of runners that get no stream and give theirs away
```

- A runner joins by adding itself under its name, and leaves by removing itself with its streams, in one version each.
- A stream is given to a runner only while no entry names another one. The entry of a living runner is removed by that
  runner alone, after the stream's query has stopped: until then the stream is at work there. A runner is asked to do so
  by the state `revoking`.
- The entries of a process that is not alive, or that is not in `runners` any more, mean nothing.

The document only keeps two runners from doing the same work. The epoch in the table protects the data.
"""

from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import Final

from pydantic import ConfigDict, Field

from braid.schemas import Contract

TTL_MS: Final = 15_000
"""Time for which a runner is alive without another heartbeat, milliseconds, unless it says otherwise."""


class PlaceState(StrEnum):
    """What the runner of a stream has to do: run it, or stop it and remove the entry."""

    ASSIGNED = "assigned"
    REVOKING = "revoking"


class _Shared(Contract):
    """A part of the document; fields that this version does not know are kept, because any runner writes the whole."""

    model_config = ConfigDict(extra="allow")


class Place(_Shared):
    """Where a stream is.

    Attributes:
        owner: The process: unique, unlike the name of a runner.
        state: What it has to do.
    """

    owner: str
    state: PlaceState = PlaceState.ASSIGNED


class Member(_Shared):
    """A runner that has joined.

    Attributes:
        owner: Id of its process, unique.
        labels: Its labels.
        streams: The streams that it may have, as `database.table/stream` or `database.table`; empty: any.
        streams_max: The most streams that it has at once; None: no bound.
        features: The features of documents that its version knows (`stored_documents.FEATURES`).
        ttl_ms: How long it is alive without another heartbeat, milliseconds.
        is_leaving: It ends as soon as its streams have moved, and gets no stream any more.
    """

    owner: str
    labels: Mapping[str, str] = Field(default_factory=dict)
    streams: tuple[str, ...] = ()
    streams_max: int | None = None
    features: tuple[str, ...] = ()
    ttl_ms: int = TTL_MS
    is_leaving: bool = False


class Assignment(_Shared):
    """The whole document.

    Attributes:
        runners: The runners that have joined, by name.
        streams: Where streams are, by `<database>.<table>/<stream>`.
        drained: Names of runners that are drained, in alphabetical order, joined or not.
    """

    runners: Mapping[str, Member] = Field(default_factory=dict)
    streams: Mapping[str, Place] = Field(default_factory=dict)
    drained: tuple[str, ...] = ()

    @property
    def owners(self) -> Mapping[str, str]:
        """The names of the runners that have joined, by the ids of their processes."""
        return {member.owner: name for name, member in self.runners.items()}

    def streams_of(self, owner: str) -> Mapping[str, Place]:
        """Return the streams of a process."""
        return {key: place for key, place in self.streams.items() if place.owner == owner}

    def with_runner(self, name: str, member: Member) -> "Assignment":
        """Return the document with a runner under a name; the streams of the process before it are free."""
        before = self.runners.get(name)
        changed = self
        if before is not None and before.owner != member.owner:
            changed = self.without_owner(before.owner)
        return changed.model_copy(update={"runners": {**changed.runners, name: member}})

    def without_owner(self, owner: str) -> "Assignment":
        """Return the document without a process and its streams."""
        return self.model_copy(
            update={
                "runners": {
                    name: member for name, member in self.runners.items() if member.owner != owner
                },
                "streams": {
                    key: place for key, place in self.streams.items() if place.owner != owner
                },
            }
        )

    def without_streams(self, owner: str, keys: Collection[str]) -> "Assignment":
        """Return the document without the entries of some streams of a process."""
        return self.model_copy(
            update={
                "streams": {
                    key: place
                    for key, place in self.streams.items()
                    if key not in keys or place.owner != owner
                }
            }
        )

    def with_drained(self, name: str, *, is_drained: bool) -> "Assignment":
        """Return the document in which a runner is drained, or not any more."""
        names = {*self.drained, name} if is_drained else {*self.drained} - {name}
        return self.model_copy(update={"drained": tuple(sorted(names))})
