"""The reference page of the command line, from the parser of `braid`."""

import inspect
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any, Final

import typer

import braid.cli.exits
from braid.cli.main import app
from docs.generator.markdown import block, code, page, section, table

PAGE: Final = "docs/reference/command-line.md"
_INTRODUCTION: Final = (
    "The commands of `braid`, with their arguments and options. `braid COMMAND --help` prints the same. The guide is "
    "[work from the command line](../guides/command-line.md)."
)
_COMMON_NAMES: Final = ("--api", "--token-file", "--output")
_COMMON: Final = (
    "Commands against a service have these options. The variables are read where the option is not given. A token has no "
    "option of its own, because other users of a machine see the arguments of its processes."
)
_OUTPUT: Final = (
    "`--output json` and `yaml` print one document: the answer of the service, as the [HTTP reference](http-api.md) describes it; "
    "lists that come page by page are whole. Commands that print records, one after the other, print one JSON object in each line, "
    "or one YAML document for each: `watch`, `audit`, `export`, `stream dead-letters`, `table changes`, `table inspect`. Results are on stdout, all "
    "else is on stderr."
)
_TYPES: Final[dict[Any, str]] = {str: "text", int: "integer", float: "number", Path: "path"}


def command_line_page() -> str:
    """Return the page."""
    root = typer.main.get_command(app)
    commands = dict(_commands(root, ()))
    of_list: Any = commands["table list"]
    common = {option.opts[0]: option for option in of_list.params}
    rows = [_row(common[name]) for name in _COMMON_NAMES]
    return page(
        "Command line",
        _INTRODUCTION,
        section("Options of many commands", _COMMON, table(_HEAD, rows), _OUTPUT),
        section("Exit statuses", _exit_statuses()),
        *(_command_section(name, command) for name, command in sorted(commands.items())),
    )


_HEAD: Final = ("argument or option", "value", "default", "meaning")


def _commands(command: Any, path: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    """Yield the commands that do something, by their names after `braid`."""
    if not hasattr(command, "commands"):
        yield " ".join(path), command
        return
    if path and command.invoke_without_command:
        yield " ".join(path), command
    for name, one in command.commands.items():
        yield from _commands(one, (*path, name))


def _command_section(name: str, command: Any) -> str | None:
    own = [one for one in command.params if one.opts[0] not in _COMMON_NAMES]
    shared = [code(one.opts[0]) for one in command.params if one.opts[0] in _COMMON_NAMES]
    also = f"Also {', '.join(shared)}: [options of many commands](#options-of-many-commands)."
    example = (command.epilog or "").removeprefix("Example: ")
    return section(
        f"braid {name}",
        command.help,
        table(_HEAD, [_row(one) for one in own]),
        also if shared else None,
        block(example, "sh") if example else None,
    )


def _row(parameter: Any) -> tuple[str, str, str, str]:
    names = [*parameter.opts, *parameter.secondary_opts]
    is_argument = not parameter.opts[0].startswith("-")
    shown = code(parameter.metavar or parameter.name.upper()) if is_argument else ""
    return (
        shown or ", ".join(map(code, names)),
        _value(parameter),
        _default(parameter),
        " ".join((parameter.help or "").split()),
    )


def _value(parameter: Any) -> str:
    kind = parameter.type_descriptor.annotation
    if kind is bool:
        return "flag"
    if isinstance(kind, type) and issubclass(kind, Enum):
        return ", ".join(code(one.value) for one in kind)
    has_name = parameter.metavar is not None and parameter.opts[0].startswith("-")
    text = code(parameter.metavar) if has_name else _TYPES.get(kind, "text")
    least, most = parameter.min, parameter.max
    if least is not None and most is not None:
        return f"{text} from {least:,} to {most:,}"
    return text if least is None else f"{text}, at least {least:,}"


def _default(parameter: Any) -> str:
    if parameter.required:
        return "required"
    variable = f" or {code(parameter.envvar)}" if parameter.envvar else ""
    value = parameter.default
    if value is None or value is False:
        return f"none{variable}" if variable else ""
    if value is True:
        return "on"
    return f"{code(str(getattr(value, 'value', value)))}{variable}"


def _exit_statuses() -> str:
    """Return the table of the docstring of `braid.cli.exits`."""
    lines = (inspect.getdoc(braid.cli.exits) or "").splitlines()
    return "\n".join(line for line in lines if line.startswith("|"))
