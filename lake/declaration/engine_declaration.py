"""The classes with which merge engines are declared (`engines/`).

The documentation of the engines is generated from the declarations. Hints of errors and the check
for options without effect (`ineffective_options`) also use them; the registry refuses tables with
such options.

Source: merge-semantics 2.
"""

from dataclasses import dataclass

from braid.lake.merge.compatibility import Compatibility
from braid.lake.options.table_options import MergeEngine


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineOption:
    """An option of the table that the engine reads.

    Attributes:
        key: Key of the option in a table; `<...>` is a placeholder for a name.
        type: The kind of value, as text for the documentation.
        default: Text for the documentation; None: no effect unless declared.
        meaning: Effect of the option, one sentence.
    """

    key: str
    type: str
    default: str | None
    meaning: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KindEffect:
    """The effect of records of some row kinds.

    Attributes:
        kinds: Row kinds, of `+I -U +U -D`.
        when: The options or records for which the effect holds; empty: always.
        effect: The effect, one sentence.
    """

    kinds: str
    when: str
    effect: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineConflict:
    """Two declarations that exclude each other under the engine.

    Attributes:
        option: The declaration that is refused.
        excludes: The declaration with which it is refused.
        because: The reason, one clause.
    """

    option: str
    excludes: str
    because: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineDeclaration:
    """The declaration of one merge engine.

    Attributes:
        engine: The engine.
        summary: One sentence: what several records of one key become.
        effects: The effects of each row kind.
        result_kind: The kind of the merged record; rows of kind -D and -U are not visible.
        options: The options that the engine reads, besides those of its aggregate functions.
        conflicts: Declarations that exclude each other.
        anomalies: Surprising results, and how to avoid them; one or two sentences each.
        compatibility: Comparison with the reference.
        many_writers: Whether several streams may feed one table, and why; one sentence.
    """

    engine: MergeEngine
    summary: str
    effects: tuple[KindEffect, ...]
    result_kind: str
    options: tuple[EngineOption, ...]
    conflicts: tuple[EngineConflict, ...]
    anomalies: tuple[str, ...]
    compatibility: tuple[Compatibility, ...]
    many_writers: str
