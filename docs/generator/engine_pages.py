"""The reference page of each merge engine, and their index."""

from collections.abc import Iterable, Iterator, Sequence

from braid.lake.declaration.engine_declaration import EngineDeclaration
from docs.generator.compatibility import LEGEND, compatibility_table
from docs.generator.engine_examples import ENGINE_EXAMPLES
from docs.generator.markdown import block, bullets, code, page, section, table
from docs.generator.traps import Trap
from docs.generator.worked_examples import WorkedExample, answers

FOLDER = "docs/reference/merge-engines"


def engine_page(declaration: EngineDeclaration, traps: Sequence[Trap]) -> str:
    """Return the page of an engine.

    Args:
        declaration: The engine.
        traps: Those of all engines and functions.
    """
    name = declaration.engine.value
    own = [trap for trap in traps if trap.engine == name]
    return page(
        name,
        declaration.summary,
        block(f"merge-engine = {name}"),
        section("Effects of records", table(("records", "when", "effect"), _effects(declaration))),
        f"Kind of the merged record: {declaration.result_kind}. If the merged record has the kind -U or -D, "
        "the key has no visible row.",
        f"**Streams.** {declaration.many_writers}",
        section("Options", table(("option", "value", "default", "meaning"), _options(declaration))),
        section(
            "Options that exclude each other",
            table(("option", "is refused together with", "because"), _conflicts(declaration)),
        ),
        section("Example", *_examples(ENGINE_EXAMPLES[declaration.engine])),
        section("Traps", bullets([*declaration.anomalies, *_trap_lines(own)])),
        section(
            "Compared with Apache Paimon 2.0",
            compatibility_table(declaration.compatibility),
            LEGEND,
        ),
    )


def engine_index(declarations: Iterable[EngineDeclaration]) -> str:
    """Return the page that lists them."""
    rows = [
        (f"[{found.engine.value}]({found.engine.value}.md)", found.summary, found.many_writers)
        for found in declarations
    ]
    return page(
        "Merge engines",
        "The merge engine of a table defines how the records of one key are merged into a row. It is set when "
        "the table is created, by the option `merge-engine`; the default is `deduplicate`.",
        table(("engine", "effect", "streams"), rows),
        "For an introduction read the guide [Merging: which row wins](../../guides/which-row-wins.md). "
        "[Aggregate functions](../aggregate-functions/README.md) combine values of one column; "
        "[traps](../traps.md) lists every surprising result.",
    )


def _effects(declaration: EngineDeclaration) -> list[tuple[str, ...]]:
    """Return the rows of the table, those with `otherwise` below all exceptions."""
    always: list[tuple[str, ...]] = []
    otherwise: list[tuple[str, ...]] = []
    for effect in declaration.effects:
        kinds = set(effect.kinds.split())
        has_others = any(
            other.when and kinds & set(other.kinds.split()) for other in declaration.effects
        )
        if effect.when or not has_others:
            always.append((effect.kinds, effect.when or "always", effect.effect))
        else:
            otherwise.append((effect.kinds, "otherwise", effect.effect))
    return always + otherwise


def _options(declaration: EngineDeclaration) -> Iterator[tuple[str, ...]]:
    for option in declaration.options:
        default = "" if option.default is None else code(option.default)
        yield code(option.key), option.type, default, option.meaning


def _conflicts(declaration: EngineDeclaration) -> Iterator[tuple[str, ...]]:
    for conflict in declaration.conflicts:
        yield _option_text(conflict.option), _option_text(conflict.excludes), conflict.because


def _option_text(text: str) -> str:
    return text if " " in text and "=" not in text else code(text)


def _examples(examples: Sequence[WorkedExample]) -> Iterator[str | None]:
    compacted = " and a compaction" if any(e.is_compacted for e in examples) else ""
    yield (
        f"Each record is a commit of its own{compacted}; `id` is the key. The rows are results of "
        "running the code."
    )
    for example in examples:
        options = ", ".join(code(f"{key} = {text}") for key, text in example.options.items())
        yield (f"**{example.title}**: " if example.title else "") + options + "."
        head = ("record", *example.shown, *(f"row: {name}" for name in example.shown))
        yield table(head, _rows(example))


def _rows(example: WorkedExample) -> Iterator[tuple[str, ...]]:
    for answer in answers(example):
        if isinstance(answer.row, str):
            row = (answer.row, *[""] * (len(example.shown) - 1))
        else:
            row = tuple(map(code, answer.row))
        yield (*map(code, answer.record), *row)


def _trap_lines(traps: Sequence[Trap]) -> Iterator[str]:
    """Yield the traps of the engine itself, and a link to those of functions."""
    for trap in traps:
        if not trap.functions:
            link = f"[Worked example](../traps.md#{trap.anchor})."
            yield f"{trap.says} Workaround: {trap.workaround} {link}"
    if any(trap.functions for trap in traps):
        yield (
            "Aggregate functions have traps of their own, which are on the [page of each function]"
            "(../aggregate-functions/README.md); [traps](../traps.md) has all traps by cause."
        )
