"""Repeats in a regular expression that can make it take quadratic time.

Python's `re` tries one split of a text between two repeats after the other, so a text that matches nearly, but not
quite, takes time that grows with the square of its length. Three forms are found:

* two repeats in a row that read the same character, with nothing between them that has to be read:
  `[0-9]+\\.?[0-9]*` splits n digits in n ways before it gives up.
* a search that begins again inside of what it has read: `\\[[^\\]]*\\]` is tried from every `[` to the end of the text.
* the same in a group that is repeated: where one alternative reads to the end of the text in vain, another reads its
  beginning, and the first one is tried again: `(?:\\$\\{[^}]*\\}|[^;])+`.

What follows a repeat of a group is compared with all characters in the group, which may find more than there is.
"""

import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any, Final

# `re` has no public parser.
_parser: Final[Any] = import_module("re._parser")
_SAMPLES: Final = frozenset(map(chr, (*range(128), 0xE4, 0x660, 0x2003, 0x4E00)))
_LONG: Final = 1_000
"""A repeat that is allowed more often than this counts as unbounded."""
_REPEATS: Final = ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT")
_CLASSES: Final = {"DIGIT": r"\d", "SPACE": r"\s", "WORD": r"\w"}

_Characters = frozenset[str]


def quadratic_repeats(pattern: re.Pattern[Any], *, is_searched: bool) -> list[str]:
    """Return the characters that a pair of repeats has in common, one pair each; empty for a linear pattern.

    Args:
        pattern: The pattern.
        is_searched: Whether it is searched in texts, instead of being matched at a given position.
    """
    text = pattern.pattern
    items = _parser.parse(text if isinstance(text, str) else text.decode("latin-1"), pattern.flags)
    found: list[_Characters] = []
    _walk(items, [], found)
    if is_searched:
        for branch in _branches(items):
            found += _read_again(branch)
    return ["".join(sorted(both)) for both in found]


def _walk(items: Any, before: list[_Characters], found: list[_Characters]) -> list[_Characters]:
    """Return the repeats that can be followed by what comes after the items without a character between."""
    for operator, argument in items:
        name = str(operator)
        if name in _REPEATS:
            least, most, inner = argument
            if most > _LONG:
                first = _first(inner)
                found += [other & first for other in before if other & first]
                # What the group ends with is followed by what it begins with.
                _walk(inner, _walk(inner, [], []), found)
                found += _tried_again(inner)
                after = [] if name == "POSSESSIVE_REPEAT" else [_characters(inner)]
            else:
                after = _walk(inner, before, found)
            before = after if least else [*before, *after]
        elif name == "SUBPATTERN":
            before = _walk(argument[3], before, found)
        elif name == "BRANCH":
            before = [repeat for branch in argument[1] for repeat in _walk(branch, before, found)]
        elif name == "ATOMIC_GROUP":
            _walk(argument, before, found)
            before = []
        elif name not in ("AT", "ASSERT", "ASSERT_NOT"):
            before = []
    return before


def _branches(items: Any) -> list[Any]:
    (first, *others) = items
    return list(first[1][1]) if not others and str(first[0]) == "BRANCH" else [list(items)]


def _tried_again(inner: Any) -> list[_Characters]:
    """Return what `_read_again` finds in alternatives of a repeated group whose beginning another one reads."""
    branches = _branches([*_flat(inner)])
    found: list[_Characters] = []
    for place, branch in enumerate(branches):
        others = branches[:place] + branches[place + 1 :]
        if any(_first(branch) & _first(other) for other in others):
            found += _read_again(branch)
    return found


def _read_again(branch: Any) -> list[_Characters]:
    """Return what repeats share with what is read before them, where something has to be read behind them.

    A text of nothing but what is before such a repeat is read to its end from each position.
    """
    flat = [*_flat(branch)]
    if flat and str(flat[0][0]) == "AT":  # a beginning, of which there are few
        return []
    found: list[_Characters] = []
    before: list[_Characters] = []
    for place, (operator, argument) in enumerate(flat):
        name = str(operator)
        if name in _REPEATS:
            least, most, inner = argument
            read = _characters(inner)
            is_long = name != "POSSESSIVE_REPEAT" and most > _LONG
            if is_long and before and any(map(_is_needed, flat[place + 1 :])):
                both = [read & one for one in before]
                found += both[:1] if all(both) else []
            if least == 0:
                continue
        if name not in ("AT", "ASSERT", "ASSERT_NOT"):
            before.append(_characters([(operator, argument)]))
    return found


def _is_needed(item: Any) -> bool:
    operator, argument = item
    return str(operator) not in _REPEATS or argument[0] > 0


def _flat(items: Any) -> Iterator[Any]:
    """Yield the items, those of groups in the place of the groups."""
    for item in items:
        if str(item[0]) == "SUBPATTERN":
            yield from _flat(item[1][3])
        else:
            yield item


def _first(items: Any) -> _Characters:
    """Return the samples that the items can begin with."""
    found: set[str] = set()
    for operator, argument in items:
        name = str(operator)
        if name in _REPEATS:
            found |= _first(argument[2])
            if argument[0] == 0:
                continue
        elif name == "SUBPATTERN":
            found |= _first(argument[3])
        elif name == "BRANCH":
            found |= frozenset().union(*map(_first, argument[1]))
        elif name in ("AT", "ASSERT", "ASSERT_NOT"):
            continue
        else:
            found |= _characters([(operator, argument)])
        break
    return frozenset(found)


def _characters(items: Any) -> _Characters:
    """Return the samples that the items can read."""
    found: set[str] = set()
    for operator, argument in items:
        match str(operator):
            case "LITERAL":
                found.add(chr(argument))
            case "NOT_LITERAL":
                found |= _SAMPLES - {chr(argument)}
            case "ANY":
                found |= _SAMPLES
            case "IN":
                found |= _members(argument)
            case "SUBPATTERN":
                found |= _characters(argument[3])
            case "BRANCH":
                found |= frozenset().union(*map(_characters, argument[1]))
            case "ATOMIC_GROUP":
                found |= _characters(argument)
            case name if name in _REPEATS:
                found |= _characters(argument[2])
    return frozenset(found)


def _members(items: Any) -> _Characters:
    """Return the samples in a class of characters."""
    found: set[str] = set()
    is_negated = False
    for operator, argument in items:
        match str(operator):
            case "NEGATE":
                is_negated = True
            case "LITERAL":
                found.add(chr(argument))
            case "RANGE":
                found |= {char for char in _SAMPLES if argument[0] <= ord(char) <= argument[1]}
            case "CATEGORY":
                name = str(argument).removeprefix("CATEGORY_")
                escape = _CLASSES[name.removeprefix("NOT_")]
                members = {char for char in _SAMPLES if re.match(escape, char)}
                found |= _SAMPLES - members if name.startswith("NOT_") else members
    return _SAMPLES - found if is_negated else frozenset(found)
