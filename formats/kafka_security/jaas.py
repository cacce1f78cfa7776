"""Parser and writer of JAAS texts, which hold the login of a Kafka client: one login module and its options.

    org.apache.kafka.common.security.plain.PlainLoginModule required username="braid" password="...";

Kafka's own (Java) clients read the text by the rules of Java's `StreamTokenizer`: quotes are `"` or `'`, a
backslash escapes as in C, and comments are `//` and `/* */`.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

_TOKEN: Final = re.compile(
    r"(?P<blank>\s+|//[^\n]*|/\*.*?\*/)"
    r"|(?P<quoted>\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*')"
    r"|(?P<sign>[=;])"
    # A reference to a secret may stand without quotes: `password=${env:PASSWORD}`. It ends before another `{`,
    # or each of many that are not closed would be looked for to the end of the text.
    r"|(?P<word>(?:\$\{[^{}\n]*\}|[^\s\"'=;/])+)",
    re.DOTALL,
)
_FLAGS: Final = ("required", "requisite", "sufficient", "optional")
_ESCAPE: Final = re.compile(r"\\([0-3][0-7]{2}|[0-7]{1,2}|.)", re.DOTALL)
_ESCAPED: Final = {"a": "\x07", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_WRITTEN: Final = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r"}
_TEXT_MAX: Final = 64 << 10  # characters


class JaasError(ValueError):
    """A text that is no login; the message has nothing of the text, which may be a secret."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JaasLogin:
    """A login module and its options.

    Attributes:
        module: The Java class, with its package.
        flag: JAAS's flag; `required` nearly always.
        options: Values by name; never shown.
    """

    module: str
    flag: str = "required"
    options: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def module_name(self) -> str:
        """The name of the class without its package, which distributions of Kafka may rename."""
        return self.module.rpartition(".")[2]

    @property
    def text(self) -> str:
        r"""The login as a JAAS text; its values may have any characters.

        >>> print(JaasLogin(module="m.Plain", options={"password": 'a"b'}).text)
        m.Plain required password="a\"b";
        """
        words = [self.module, self.flag]
        for name, value in self.options.items():
            written = "".join(_WRITTEN.get(character, character) for character in value)
            words.append(f'{name}="{written}"')
        return " ".join(words) + ";"


def parse_jaas(text: str) -> JaasLogin:
    r"""Return the login of a JAAS text.

    Raises:
        JaasError: The text is not one login module with options, ended by `;`.

    >>> parse_jaas("m.Plain required username=me password='a\\'b';").options
    {'username': 'me', 'password': "a'b"}
    """
    if len(text) > _TEXT_MAX:
        message = f"it has more than {_TEXT_MAX} characters"
        raise JaasError(message)
    tokens = list(_tokens(text))
    if len(tokens) < 3 or tokens[0][0] == "sign":
        message = 'expected `<login module> required <name>="<value>" ...;`'
        raise JaasError(message)
    module, flag = tokens[0][1], tokens[1][1].lower()
    if flag not in _FLAGS:
        message = f"expected one of {', '.join(_FLAGS)} after the login module"
        raise JaasError(message)
    if tokens[-1] != ("sign", ";"):
        message = "expected `;` at the end"
        raise JaasError(message)
    return JaasLogin(module=module, flag=flag, options=dict(_options(tokens[2:-1])))


def _options(tokens: list[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    for start in range(0, len(tokens), 3):
        kinds = [kind for kind, _ in tokens[start : start + 3]]
        is_option = len(kinds) == 3 and kinds[0] == "word" and kinds[2] != "sign"
        if not is_option or tokens[start + 1] != ("sign", "="):
            message = 'expected options `<name>="<value>"`, and one login module only'
            raise JaasError(message)
        yield tokens[start][1], tokens[start + 2][1]


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            message = f"character {position + 1} begins neither a word nor a text with quotes at both ends"
            raise JaasError(message)
        position = match.end()
        kind, found = match.lastgroup or "", match.group()
        if kind == "quoted":
            yield kind, _ESCAPE.sub(_unescape, found[1:-1])
        elif kind != "blank":
            yield kind, found


def _unescape(match: re.Match[str]) -> str:
    found = match[1]
    return chr(int(found, 8)) if found[0] in "01234567" else _ESCAPED.get(found, found)
