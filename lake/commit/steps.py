"""The places where a commit can be watched, paused or broken off.

Each effect on storage is announced before and after as `before <effect>` and `after <effect>`:

```
plan                  reading the newest snapshot and deciding (no effect; a place to pause)
write-manifest        a manifest of this commit, or a merged one
write-manifest-list   delta, changelog or base list
create-snapshot       the one step that makes the commit visible
verify-snapshot       looking whether it became part of the chain
take-back-snapshot    deleting a snapshot that did not
write-hint            LATEST, EARLIEST
delete-manifest       files of attempts that came to nothing
```
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

OnStep = Callable[[str], None]


def ignore_step(name: str) -> None:
    """Do nothing; the default."""
    del name


@contextmanager
def announce_step(on_step: OnStep, name: str) -> Iterator[None]:
    """Announce an effect before it begins and after it has succeeded."""
    on_step(f"before {name}")
    yield
    on_step(f"after {name}")
