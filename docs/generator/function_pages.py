"""The reference page of each aggregate function, and their index."""

from collections.abc import Iterator, Sequence

from braid.lake.aggregates import FunctionDeclaration
from braid.lake.merge.compatibility import Compatibility
from docs.generator.batch_support import batch_support
from docs.generator.compatibility import LEGEND, compatibility_table
from docs.generator.function_examples import EXAMPLES, FunctionExample
from docs.generator.markdown import block, bullets, code, page, section, table
from docs.generator.traps import Trap
from docs.generator.worked_examples import Answer, answers

FOLDER = "docs/reference/aggregate-functions"
_FAILS = "../../guides/which-row-wins.md#when-merging-fails"
_REFUSED = f"Not possible: [merging fails]({_FAILS}), unless the column has `ignore-retract`."

_RESULT = Compatibility(
    subject="merged values and single records, including the traps",
    verdict="same",
    why="Every engine of the format has to return the same rows of a table.",
)
_TYPES = Compatibility(
    subject="columns of other types",
    verdict="stricter",
    why="Refused when the table is created; Paimon accepts the table, and its first merge fails.",
)
_OPTIONS = Compatibility(
    subject="options that cannot be read",
    verdict="stricter",
    why="Refused when the table is created; Paimon accepts the table, and its first merge fails or uses "
    "the default.",
)


def function_page(declaration: FunctionDeclaration, traps: Sequence[Trap]) -> str:
    """Return the page of a function.

    Args:
        declaration: The function.
        traps: Those of all engines and functions.
    """
    own = [trap for trap in traps if declaration.name in trap.functions]
    return page(
        declaration.name,
        declaration.summary,
        block(f"fields.<column>.aggregate-function = {declaration.name}"),
        table(("", ""), _facts(declaration)),
        section("Options", table(("option", "value", "default", "meaning"), _options(declaration))),
        _examples(declaration),
        section("Traps", bullets([*declaration.anomalies, *map(_trap_line, own)])),
        section(
            "Compared with Apache Paimon 2.0",
            compatibility_table(_compatibility(declaration)),
            LEGEND,
        ),
    )


def function_index(declarations: Sequence[FunctionDeclaration]) -> str:
    """Return the page that lists them."""
    head = ("function", "the value becomes", "columns", "takes values back", "order of arrival")
    rows = [
        (
            f"[{declaration.name}]({declaration.name}.md)",
            declaration.summary,
            declaration.accepted,
            "no" if declaration.retract_rule is None else "yes",
            "free" if declaration.order_free else "matters",
        )
        for declaration in declarations
    ]
    return page(
        "Aggregate functions",
        "An aggregate function defines how the values of one column are combined. Every column of an "
        "[aggregation](../merge-engines/aggregation.md) table has one. Columns of a sequence group of a "
        "[partial-update](../merge-engines/partial-update.md) table may have one.",
        table(head, rows),
        bullets(
            (
                "*Takes values back*: a record of kind -U or -D subtracts its value. If a function does not "
                f"take values back, such a record makes [merging fail]({_FAILS}), unless "
                "`fields.<column>.ignore-retract` is `true`.",
                "*Order of arrival*: *free* means that records of kind +I and +U give the same value in any "
                "order, except for the function's traps, so late records and several streams do no harm. "
                "But sums and products of FLOAT and DOUBLE, and products of DECIMAL with digits after the "
                "point, are rounded at each record, so their last digits depend on the order.",
                "If a key has only one record, its value is kept as it is, without calling the function.",
            )
        ),
        "[Custom aggregate functions](../../guides/custom-aggregate-functions.md) come from packages.",
    )


def _facts(declaration: FunctionDeclaration) -> Iterator[tuple[str, str]]:
    if declaration.aliases:
        yield "Also called", ", ".join(map(code, declaration.aliases))
    yield "Columns", declaration.accepted
    yield "Null", declaration.null_rule
    yield "Older value (late)", declaration.late_rule
    yield "Value taken back (-U, -D)", declaration.retract_rule or _REFUSED
    yield "Order of arrival", _order(declaration)
    yield "Speed: merged in whole batches", batch_support(declaration, EXAMPLES[declaration.name])


def _order(declaration: FunctionDeclaration) -> str:
    if declaration.order_free:
        but_for = ", except for the traps below" if declaration.anomalies else ""
        return (
            f"Free: any order of adds (+I, +U) gives the same value{but_for}. So several streams may "
            "feed the table."
        )
    if declaration.name == "last_value":
        return "Matters: one stream only, unless a sequence group defines which value is newer."
    return "Matters: one stream only, in order; a sequence group alone does not help."


def _options(declaration: FunctionDeclaration) -> Iterator[tuple[str, ...]]:
    for option in declaration.options:
        default = "must be given" if option.default is None else _default(option.default)
        yield _key(option.key), option.type, default, option.meaning
    meaning = "Records of kind -U and -D leave the column as it is."
    yield _key("ignore-retract"), "boolean", code("false"), meaning


def _default(text: str) -> str:
    return text if " " in text else code(text)


def _key(key: str) -> str:
    return code(f"fields.<column>.{key}")


def _examples(declaration: FunctionDeclaration) -> str | None:
    parts: list[str | None] = []
    for example in EXAMPLES[declaration.name]:
        parts += _example(declaration, example)
    return section(
        "Example",
        "The table is a partial-update table with a sequence group, in which `version` orders `v`. Each record "
        "is a commit of its own. The rows are results of running the code.",
        *parts,
    )


def _example(declaration: FunctionDeclaration, example: FunctionExample) -> list[str | None]:
    options = ", ".join(code(f"{key} = {text}") for key, text in example.options.items())
    title = f"**{example.title}**: " if example.title else ""
    given = f"{title}`v {example.type}`" + (f", {options}" if options else "") + "."
    head = ("record", "version", "v", "row: version", "row: v")
    rows = [_cells(answer) for answer in answers(example.worked(declaration.name))]
    return [given, table(head, rows)]


def _cells(answer: Answer) -> tuple[str, ...]:
    row = (answer.row, "") if isinstance(answer.row, str) else tuple(map(code, answer.row))
    return (*map(code, answer.record), *row)


def _trap_line(trap: Trap) -> str:
    return f"{trap.says} Workaround: {trap.workaround} [Worked example](../traps.md#{trap.anchor})."


def _compatibility(declaration: FunctionDeclaration) -> Iterator[Compatibility]:
    yield _RESULT
    if declaration.accepted != "every type":
        yield _TYPES
    if declaration.options:
        yield _OPTIONS
    yield from declaration.differences
