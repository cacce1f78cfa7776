"""Names of the steps of a commit, for tests and simulations that observe, delay or interrupt it.

Each of these steps calls `on_step` with `before <step>` and, if it succeeds, `after <step>`; where the table has the
commit already, there is no `after plan`:

```
plan                  reading the newest snapshot and checking the commit (no effect)
write-manifest        a manifest of this commit, or a merged one
write-manifest-list   delta, changelog or base list
write-index-manifest  index files of the table, when the commit changes any
create-snapshot       the one step that makes the commit visible
verify-snapshot       checking whether the snapshot became part of the chain
take-back-snapshot    deleting a snapshot that did not become part of the chain
write-hint            LATEST, EARLIEST
delete-manifest       deleting files of failed attempts
```

The consumer file that holds the positions of streams, and corrections of the hints by later commits, are no steps
of the commit.
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
