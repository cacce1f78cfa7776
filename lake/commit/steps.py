"""Names of the steps of a commit, for tests and simulations that observe, delay or interrupt it.

Each of these steps calls `on_step` with `before <step>` and, unless it raises, `after <step>`. So
`after create-snapshot` also follows a creation that was refused because another writer has the id.
There is no `after plan` if the attempt ends there, for example because the table already has the
commit.

```
plan                  reading the newest snapshot and checking the commit (no effect)
write-manifest        a manifest of this commit, or a merged one
write-manifest-list   delta, changelog or base list
write-index-manifest  index files of the table, when the commit changes any
create-snapshot       exclusive creation of the snapshot's file, the one step that can make the
                      commit visible
verify-snapshot       checking whether the snapshot became part of the chain
take-back-snapshot    deleting a snapshot that did not become part of the chain, if it still exists
write-hint            LATEST, EARLIEST
delete-manifest       deleting a manifest or a list of a failed attempt
```

These writes are not steps: the consumer file that keeps the newest snapshot with positions of
streams from expiring (`streams/position_hold`), and the correction of an outdated hint after
`take-back-snapshot` or in a replay.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

OnStep = Callable[[str], None]
"""Called with the name of a step, before or after it."""


def ignore_step(name: str) -> None:
    """Do nothing; the default."""
    del name


@contextmanager
def announce_step(on_step: OnStep, name: str) -> Iterator[None]:
    """Announce an effect before it begins and after it has succeeded."""
    on_step(f"before {name}")
    yield
    on_step(f"after {name}")
