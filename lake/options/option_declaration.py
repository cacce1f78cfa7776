"""The declaration of one option: key, parser, default and meaning, in one place.

`TableOptions` declares its attributes with `option` and `declared`, except the bloom filters, whose options have a
key for each column. The declarations give the parsing, these options' part of the known keys
(`braid.lake.options.option_keys`), and the reference page (`docs/reference/options.md`). Rules about options, and
whether an option may change, are elsewhere: see `CONTRIBUTING.md`, *Add a table option*.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final, Generic, TypeVar, cast

from braid.lake.errors import Problem
from braid.lake.options.option_parsers import Parser

ValueT = TypeVar("ValueT")

_METADATA_KEY: Final = "option"


@dataclass(frozen=True, slots=True, kw_only=True)
class Following(Generic[ValueT]):
    """A default that depends on another option.

    Attributes:
        base: The other option.
        derive: Returns the default for a value of the base.
        text: The default in words.
        is_minimum: Whether a given value below that of the base is replaced by it.
    """

    base: "Option[ValueT]"
    derive: Callable[[ValueT], ValueT]
    text: str
    is_minimum: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Option(Generic[ValueT]):
    """One option of a table.

    Attributes:
        key: Key of the option.
        parser: Parser of the option's text.
        default: Value when the option is absent.
        doc: What the option does: a phrase without a full stop, in Markdown.
        default_text: The default in words, where the value alone would mislead.
        fallbacks: Older keys of the same option, used in this order when `key` is absent.
    """

    key: str
    parser: Parser[ValueT]
    default: ValueT | Following[ValueT]
    doc: str
    default_text: str | None = None
    fallbacks: tuple[str, ...] = ()

    @property
    def keys(self) -> tuple[str, ...]:
        """The key and its fallbacks, in the order of precedence."""
        return self.key, *self.fallbacks

    @property
    def deciding_keys(self) -> tuple[str, ...]:
        """The keys that the value depends on: its own, and those of the option that it follows."""
        followed = self.default.base.deciding_keys if isinstance(self.default, Following) else ()
        return *self.keys, *followed

    @property
    def shown_default(self) -> str:
        """The default as a person would write it; empty when there is none."""
        if self.default_text is not None:
            return self.default_text
        if isinstance(self.default, Following):
            return self.default.text
        return "" if self.default is None else self.parser.show(self.default)

    def read(self, options: Mapping[str, str], problems: list[Problem]) -> ValueT:
        """Return the value of the option in the options of a table.

        Args:
            options: Text by key.
            problems: Receives a problem if the text is not valid; the default is returned then.
        """
        value = self._default_in(options)
        present = next((key for key in self.keys if key in options), None)
        if present is not None:
            parsed = self.parser.parse(options[present])
            if parsed is None:
                expected = f"expected {self.parser.expected}"
                problems.append(Problem(field=present, value=options[present], message=expected))
            else:
                value = parsed
        if isinstance(self.default, Following) and self.default.is_minimum:
            # Problems of the base are dropped here: they are reported when the base is read for itself.
            least: Any = self.default.base.read(options, [])
            return cast("ValueT", max(value, least))
        return value

    def _default_in(self, options: Mapping[str, str]) -> ValueT:
        if isinstance(self.default, Following):
            return self.default.derive(self.default.base.read(options, []))
        return self.default


def option(
    key: str,
    parser: Parser[ValueT],
    *,
    default: ValueT | Following[ValueT],
    doc: str,
    default_text: str | None = None,
    fallbacks: tuple[str, ...] = (),
) -> ValueT:
    """Return the dataclass field of an attribute that has an option's value (see `Option`)."""
    return declared(
        Option(
            key=key,
            parser=parser,
            default=default,
            doc=doc,
            default_text=default_text,
            fallbacks=fallbacks,
        )
    )


def declared(declaration: Option[ValueT]) -> ValueT:
    """Return the dataclass field of an attribute that has the value of a declared option."""
    default = declaration.read({}, [])
    return field(default=default, metadata={_METADATA_KEY: declaration})


def declared_options(cls: type[Any]) -> dict[str, Option[Any]]:
    """Return the options that the attributes of a dataclass declare, by attribute, in order."""
    found = {one.name: one.metadata.get(_METADATA_KEY) for one in fields(cls)}
    return {name: declaration for name, declaration in found.items() if declaration is not None}
