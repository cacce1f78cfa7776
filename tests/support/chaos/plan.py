"""Plan of a chaos run: what is sent and what is done in each step, from a seed. Pure.

Each kind of action comes as often as the others: they are dealt like cards, from a deck that is shuffled anew when it
is empty. A plan is bounded by its steps; how long they take decides nothing.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from tests.support.chaos.streams import REPEATABLE, STREAMS

_PAUSE_MS: Final = (200, 3_000)
_PAST_LEASE_MS: Final = 17_000
"""A runner that sleeps for so long has lost its leases, and another one has its streams when it wakes up."""
_LATE: Final = 0.2
_LATE_STEPS: Final = (1, 3)
_FAULTS: Final = (0.01, 0.08)


class Target(StrEnum):
    """What is killed or paused.

    A driver is Spark's JVM, an executor one of its Python workers, on a cluster an executor's JVM. A worker is the machine of
    a cluster that has executors.
    """

    BROKER = "broker"
    RUNNER = "runner"
    DRIVER = "driver"
    EXECUTOR = "executor"
    SERVICE = "service"
    COMPACTOR = "compactor"
    STORE = "store"
    WORKER = "worker"


@dataclass(frozen=True, slots=True)
class Kill:
    """End a process by SIGKILL; it is started again."""

    target: Target


@dataclass(frozen=True, slots=True)
class Pause:
    """Stop a process by SIGSTOP for a while; the plan draws how long, unless the action says it."""

    target: Target
    milliseconds: int = 0


@dataclass(frozen=True, slots=True)
class StoreFaults:
    """Let the store refuse, lose and break a share of all requests from now on."""

    share: float = 0.0


@dataclass(frozen=True, slots=True)
class Declare:
    """Register a stream anew: mended it takes long messages, otherwise they are dead letters."""

    stream: str
    is_mended: bool


@dataclass(frozen=True, slots=True)
class Replay:
    """Have the dead letters of a stream replayed, while everything goes on."""

    stream: str


@dataclass(frozen=True, slots=True)
class SetBack:
    """Stop a stream, set its position back to a share of what it has read, and start it again."""

    stream: str
    share: float = 0.0


Action = Kill | Pause | StoreFaults | Declare | Replay | SetBack


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step of a plan.

    Attributes:
        number: From 0.
        records: How many records are sent to each stream; to one that is late, none.
        moment: The share of these that are committed when the action comes, 0 to 1; with 0 it comes at once.
        action: What is done.
    """

    number: int
    records: Mapping[str, int]
    moment: float
    action: Action

    def __str__(self) -> str:
        """Say it in a log."""
        return (
            f"{self.number}, {dict(self.records)} sent, at {self.moment:.2f} of them {self.action}"
        )


_ANYWHERE: Final = tuple(target for target in Target if target is not Target.WORKER)
_KILLED: Final = tuple(target for target in _ANYWHERE if target is not Target.STORE)

FULL_DECK: Final[Sequence[Action]] = (
    *(Kill(target) for target in _KILLED),
    *(Kill(target) for target in (Target.EXECUTOR, Target.COMPACTOR)),
    *(Pause(target) for target in _ANYWHERE),
    *(Pause(target, _PAST_LEASE_MS) for target in (Target.RUNNER, Target.DRIVER)),
    *(StoreFaults() for _ in range(2)),
    *(Declare(stream, is_mended=is_mended) for stream in STREAMS for is_mended in (True, False)),
    *(Replay(stream) for stream in STREAMS),
    *(SetBack(stream) for stream in REPEATABLE),
)
"""All kinds of actions: 30 steps."""

SHORT_DECK: Final[Sequence[Action]] = (
    *(Kill(target) for target in _KILLED),
    *(Pause(target) for target in (Target.BROKER, Target.RUNNER, Target.DRIVER, Target.STORE)),
    *(Declare(stream, is_mended=True) for stream in STREAMS),
    StoreFaults(),
    *(Replay(stream) for stream in STREAMS),
    *(SetBack(stream) for stream in REPEATABLE),
)
"""Each kind of action at least once: 19 steps."""


CLUSTER_DECK: Final[Sequence[Action]] = tuple(
    Kill(target) for target in (Target.WORKER, Target.EXECUTOR, Target.DRIVER)
)
"""What a cluster loses: 3 steps."""


def chaos_plan(
    seed: int, *, steps: int, deck: Sequence[Action] = FULL_DECK, records: int = 300
) -> list[Step]:
    """Return the steps of a plan.

    Args:
        seed: Decides everything.
        steps: How many.
        deck: The actions that are dealt.
        records: Sent to a stream that is not late, at most, in one step.
    """
    drawn = random.Random(f"plan {seed}")
    hand: list[Action] = []
    late = dict.fromkeys(STREAMS, 0)
    owed = dict.fromkeys(STREAMS, 0)
    plan = []
    for number in range(steps):
        if not hand:
            hand = drawn.sample(list(deck), len(deck))
        sent = {}
        for stream in STREAMS:
            owed[stream] += drawn.randrange(records // 3, records)
            if late[stream] == 0 and drawn.random() < _LATE:
                late[stream] = drawn.randint(*_LATE_STEPS)
            # What a late stream owes comes at once, in the step that ends its delay. A stream that is set back
            # has to have read something.
            is_due = number == steps - 1 or _sets_back(hand[-1], stream)
            is_late = late[stream] > 0 and not is_due
            late[stream] = max(0, late[stream] - 1)
            sent[stream] = 0 if is_late else owed[stream]
            owed[stream] -= sent[stream]
        moment = 0.0 if drawn.random() < 0.25 else drawn.random()
        action = _drawn(drawn, hand.pop())
        plan.append(Step(number=number, records=sent, moment=moment, action=action))
    return plan


def _sets_back(action: Action, stream: str) -> bool:
    return isinstance(action, SetBack) and action.stream == stream


def _drawn(drawn: random.Random, action: Action) -> Action:
    """Return an action with what chance decides about it."""
    match action:
        case Pause(milliseconds=0):
            return replace(action, milliseconds=drawn.randint(*_PAUSE_MS))
        case StoreFaults():
            return replace(action, share=round(drawn.uniform(*_FAULTS), 3))
        case SetBack():
            return replace(action, share=round(drawn.random(), 2))
        case Kill() | Pause() | Declare() | Replay():
            return action
