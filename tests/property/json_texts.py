"""JSON texts as they come from anywhere: each value written in one of its many ways, or in none that is JSON."""

import base64
import random
from collections.abc import Callable, Sequence
from typing import Final

from braid.formats.mapped_column import MappedColumn
from braid.formats.times import DATE_AND_TIME_TYPES
from braid.formats.type_bounds import INTEGER_BOUND
from braid.lake import DataField, DataType, TypeRoot, parse_type

NUMBERS: Final = (
    *("0", "-0", "-0.0", "1", "1.0", "1e0", "1E+2", "1.10", "0.1", "1.005", "-1.005"),
    *("0.005", "0.0049", "99.5", "999.99", "999.994", "999.995"),
    *("-999.995", "1000", "127", "128", "-128", "-129", "32768", "2147483647"),
    *("2147483648", "9223372036854775807"),
    *("9223372036854775808", "-9223372036854775808", "-9223372036854775809"),
    *("18446744073709551615",),
    *("18446744073709551616", "1e400", "-1e400", "1e-400", "5e-324", "1e308"),
    *("1.7976931348623159e308",),
    *("3.4028234663852886e38", "3.4028235e38", "3.4028235677973364e38"),
    *("3.4028235677973367e38",),
    *("1e999999999", "1e-999999999", "1e99999999999999999999"),
    *("0.1234567890123456789012345",),
    *(f"{start}{digit * 60}" for start, digit in (("1.", "9"), ("1.", "0"), ("0.", "0"))),
    *("9" * count for count in (38, 39, 1_001)),
    f"1.{'0' * 1_001}",
    *("NaN", "Infinity", "-Infinity", "INF", "-INF", "+INF", "+Infinity", "01", "-", "1."),
    *("+1", ".5", "1e", "0x1", "nan", "1_0"),
)
TEXTS: Final = (
    *("", "x", "é", "ab", "abc", "äöü", "abcd", "a\tb", "a/b", "null", "true"),
    *(" ", "\x00", "\x7f", "\u2028", "\ufeff", "\uff11", '"', "\\", "\\u0041"),
    *("\U0001f600", "\U0001f600a"),
    *("NaN", "Infinity", "+Infinity", "-INF", "INF", "inf", "nan", "sNaN", "1", "-1"),
    *("1.5", "-0.001", "+1", "1_0", "1e5", "1e400", ".5", "5.", "0x1"),
    *(" 1", "1 ", "999.995", "00001.50", "-0", "9" * 40, "x" * 300),
    *("aGk=", "aGk", "aGk==", "_-8=", "+/8=", "A", "AA", "AA==", "AB==", "=", "===="),
    *("aGk=aGk=", "YWJj", "é==="),
    *("aG k=", "aGk=\n"),
)
_YEARS: Final = ("2026", "1970", "1969", "0001", "9999", "1677", "2262", "1583")
_ODD_YEARS: Final = ("0000", "10000", "-0001", "+2026", "26")
_ZONES: Final = ("Z", "+02:00", "-0130", "+02", "+18:00", "-18")
_ODD_ZONES: Final = (" Z", "z", "-18:01", "+19", "+2", "+24:00", "+00:60", "+2359", "+02:00:00")
_BLANKS: Final = ("", "", "", "", " ", "\t", "\r\n")
_NAMES: Final = ("a", "b", "é", "a b", "", "null", "a.b", "\U0001f600")
_ESCAPED_NAME: Final = "\\"
ATOMS: Final = (
    *("BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "CHAR(2)"),
    *("VARCHAR(3)", "STRING"),
    *("BINARY(2)", "VARBINARY(1)", "BYTES", "DATE", "TIME(0)", "TIME(3)"),
    *(f"DECIMAL({digits})" for digits in ("5,2", "3,3", "4,0", "38,0", "38,38", "38,10", "1,1")),
    *(f"TIMESTAMP({n}){zone}" for n in (0, 3, 6, 9) for zone in ("", " WITH LOCAL TIME ZONE")),
)


def random_columns(chance: random.Random) -> list[MappedColumn]:
    """Return columns of random types, with paths in up to three objects."""
    columns = []
    for index in range(chance.randint(1, 6)):
        parents = ("o", "p")[: chance.choice([0, 0, 0, 1, 2])]
        start = _ESCAPED_NAME if chance.random() < 0.02 else chance.choice(_NAMES)
        name = f"{start}{index}"
        column = MappedColumn(
            name=f"c{index}",
            path=(*parents, name),
            type=random_type(chance),
            finds_missing=chance.random() < 0.5,
        )
        columns.append(column)
    return columns


def random_type(chance: random.Random, depth: int = 2) -> DataType:
    """Return any type that can be read from JSON."""
    if not depth or chance.random() < 0.65:
        return parse_type(chance.choice(ATOMS))
    part = random_type(chance, depth - 1).with_nullable(chance.random() < 0.7)
    match chance.randrange(3):
        case 0:
            return DataType(root=TypeRoot.ARRAY, element=part)
        case 1:
            key = parse_type(chance.choice(["STRING NOT NULL", "VARCHAR(2) NOT NULL"]))
            return DataType(root=TypeRoot.MAP, key=key, value=part)
        case _:
            fields = [("n", part), ("é", random_type(chance, depth - 1))]
            return DataType(
                root=TypeRoot.ROW,
                fields=tuple(DataField(name=name, type=inner) for name, inner in fields),
            )


def random_message(columns: Sequence[MappedColumn], chance: random.Random) -> bytes | None:
    """Return a message with fields for the columns, most of them usual."""
    oddness = chance.choice([0.0, 0.0, 0.1, 0.1, 0.5])
    fields: dict[tuple[str, ...], list[tuple[str, str]]] = {(): []}
    for column in columns:
        for depth in range(1, len(column.path)):
            fields.setdefault(column.path[:depth], [])
        is_absent = column.finds_missing and chance.random() < 0.2
        times = 1 if chance.random() >= oddness / 2 else chance.choice([0, 0, 2])
        for _ in range(0 if is_absent else times):
            is_odd = chance.random() < oddness
            value = odd_text(chance) if is_odd else usual_text(column.type, chance, oddness)
            fields[column.path[:-1]].append((column.path[-1], value))
    for path in sorted(fields, key=len, reverse=True):
        inside = fields[path]
        if chance.random() < oddness:
            inside.append((chance.choice(_NAMES), odd_text(chance)))
        chance.shuffle(inside)
        if path:
            is_odd = chance.random() < oddness / 4
            value = odd_text(chance) if is_odd else object_text(inside, chance)
            fields[path[:-1]].append((path[-1], value))
    return _damaged(object_text(fields[()], chance).encode("utf-8", "replace"), chance, oddness)


def _damaged(message: bytes, chance: random.Random, oddness: float) -> bytes | None:
    if chance.random() >= oddness / 4:
        return message
    place = chance.randrange(len(message))
    damages: list[Callable[[], bytes | None]] = [
        lambda: None,
        lambda: b"",
        lambda: message[:place],
        lambda: message[:place] + message[place + 1 :],
        lambda: message[:place] + chance.randbytes(1) + message[place:],
        lambda: (
            message[:place]
            + chance.choice([b",", b'"', b"\\", b"}", b"0", b"-", b" "])
            + message[place:]
        ),
        lambda: message + chance.choice([b"{}", b"\x00", b",", b"\n ", b" null", b"\x0c"]),
        lambda: chance.choice([b"\xef\xbb\xbf", b"\xff", b"[", b" ", b"null"]) + message,
        lambda: odd_text(chance).encode("utf-8", "replace"),
        lambda: chance.randbytes(chance.randrange(40)),
    ]
    return chance.choice(damages)()


def usual_text(data_type: DataType, chance: random.Random, oddness: float = 0.0) -> str:
    """Return JSON that a column of the type takes, with odd parts in nested values now and then."""
    if chance.random() < 0.05:
        return "null"
    if not data_type.is_nested and chance.random() < oddness:
        return near_miss(data_type, chance)
    match data_type.root:
        case TypeRoot.BOOLEAN:
            return chance.choice(["true", "false"])
        case TypeRoot.TINYINT | TypeRoot.SMALLINT | TypeRoot.INT | TypeRoot.BIGINT:
            return str(chance.randint(-128, 127))
        case TypeRoot.FLOAT | TypeRoot.DOUBLE:
            return chance.choice(
                [repr(chance.uniform(-9, 9)), str(chance.randint(-99, 99)), '"NaN"']
            )
        case TypeRoot.DECIMAL:
            number = (
                f"0.{chance.randint(0, 999)}" if data_type.scale else str(chance.randint(-9, 9))
            )
            return chance.choice([number, f'"{number}"'])
        case TypeRoot.BINARY | TypeRoot.VARBINARY:
            return f'"{base64.b64encode(chance.randbytes(chance.randint(0, 2))).decode()}"'
        case TypeRoot.DATE:
            return f'"20{chance.randint(10, 99)}-0{chance.randint(1, 9)}-28"'
        case TypeRoot.TIME:
            return f'"{chance.randrange(24):02}:59:0{chance.randrange(10)}"'
        case TypeRoot.TIMESTAMP | TypeRoot.TIMESTAMP_LTZ:
            end = chance.choice(["", ".5Z", ".123456789", "+02:00", "Z"])
            return f'"20{chance.randint(10, 99)}-01-02T03:04:05{end}"'
        case TypeRoot.CHAR | TypeRoot.VARCHAR:
            return string_text(chance.choice(["", "x", "é", "ab", "\U0001f600"]), chance)
    parts = [data_type.element, data_type.value, *(field.type for field in data_type.fields)]

    def part(inner: DataType) -> str:
        return odd_text(chance) if chance.random() < oddness else usual_text(inner, chance, oddness)

    if data_type.root is TypeRoot.ARRAY:
        assert parts[0] is not None
        return f"[{','.join(part(parts[0]) for _ in range(chance.randrange(3)))}]"
    if data_type.root is TypeRoot.MAP:
        assert parts[1] is not None
        names = [chance.choice("abc") for _ in range(chance.randrange(3))]
        return object_text([(name, part(parts[1])) for name in names], chance)
    fields = [(field.name, part(field.type)) for field in data_type.fields]
    if chance.random() < oddness:
        fields.append((chance.choice(_NAMES), odd_text(chance)))
    return object_text(fields, chance)


def near_miss(data_type: DataType, chance: random.Random) -> str:
    """Return JSON of the kind that a type takes, which may be beyond its bounds or not quite of its form."""
    if data_type.root in DATE_AND_TIME_TYPES:
        return string_text(time_text(chance), chance)
    number = chance.choice([chance.choice(NUMBERS), _random_number(chance)])
    text = chance.choice([chance.choice(TEXTS), number])
    is_number = data_type.root in (*INTEGER_BOUND, TypeRoot.FLOAT, TypeRoot.DOUBLE)
    is_text = data_type.root in (TypeRoot.CHAR, TypeRoot.VARCHAR, TypeRoot.BINARY)
    is_quoted = chance.random() < (0.2 if is_number else 0.8 if is_text else 0.5)
    return string_text(text, chance) if is_quoted else number


def odd_text(chance: random.Random, depth: int = 2) -> str:
    """Return the text of any value, some of which are not JSON."""
    draws: list[Callable[[], str]] = [
        lambda: chance.choice(["null", "true", "false", "True", "nul", "{}", "[]", ""]),
        lambda: chance.choice(NUMBERS),
        lambda: _random_number(chance),
        lambda: string_text(chance.choice(TEXTS), chance),
        lambda: string_text(time_text(chance), chance),
        lambda: _broken_string(chance),
    ]
    if depth:
        count = chance.randrange(3)
        draws += [
            lambda: f"[{','.join(odd_text(chance, depth - 1) for _ in range(count))}]",
            lambda: object_text(
                [(chance.choice("abn"), odd_text(chance, depth - 1)) for _ in range(count)], chance
            ),
        ]
    return chance.choice(draws)()


def object_text(fields: Sequence[tuple[str, str]], chance: random.Random) -> str:
    """Return an object with these names and values."""
    blank = chance.choice(_BLANKS)
    pairs = (f"{blank}{string_text(name, chance)}{blank}:{blank}{value}" for name, value in fields)
    return f"{{{f'{blank},'.join(pairs)}{blank}}}"


def string_text(text: str, chance: random.Random) -> str:
    """Return a text in quotes, some of its characters escaped."""
    share = chance.choice([0.0, 0.0, 0.3, 1.0])
    return f'"{"".join(_character(one, chance, share) for one in text)}"'


def _character(character: str, chance: random.Random, share: float) -> str:
    short = {'"': '\\"', "\\": "\\\\", "/": "\\/", "\n": "\\n", "\t": "\\t"}
    if character in '"\\' or (character in short and chance.random() < 0.5):
        return short[character]
    if character < " " or chance.random() < share:
        units = character.encode("utf-16-be")
        codes = (units[place : place + 2].hex() for place in range(0, len(units), 2))
        return "".join(f"\\u{code if chance.random() < 0.5 else code.upper()}" for code in codes)
    return character


def _broken_string(chance: random.Random) -> str:
    halves = (
        "\\ud800",
        "\\uDFFF",
        "\\ud83d\\ud83d\\ude00",
        "\\ude00\\ud83d",
        "\\ud83dx",
        "\\ud83d\\n",
    )
    others = ("\\x", "\\u12", "\\u12g4", "\x01", "\n", "\\", "\\ud83d\\u", "\\U0041", "\\'")
    inside = chance.choice(halves if chance.random() < 0.7 else others)
    return f'"{chance.choice(["", "a"])}{inside}{chance.choice(["", "b"])}"'


def _random_number(chance: random.Random) -> str:
    digits = "".join(chance.choices("0123456789", k=chance.choice([1, 2, 3, 5, 19, 38, 40])))
    fraction = "".join(chance.choices("0123456789", k=chance.choice([1, 2, 3, 10, 40])))
    end = chance.choice(["", "", f".{fraction}", f".{fraction}e{chance.randint(-9, 9)}", "e5"])
    return f"{chance.choice(['', '-'])}{digits.lstrip('0') or '0'}{end}"


def time_text(chance: random.Random) -> str:
    """Return a date, a time of day or both, with or without a zone, near the bounds or beyond them."""

    def one_of(usual: Sequence[str], odd: Sequence[str]) -> str:
        return chance.choice(odd if chance.random() < 0.03 else usual)

    date = f"{one_of(_YEARS, _ODD_YEARS)}-{one_of(('01', '12', '03'), ('13', '00', '1'))}"
    date += f"-{one_of(('01', '28', '31'), ('30', '32', '00', '1'))}"
    clock = f"{one_of(('00', '03', '23'), ('24', '3'))}:{one_of(('00', '59'), ('60', '4'))}"
    if chance.random() < 0.8:
        clock += f":{one_of(('00', '59'), ('60', '5'))}"
        if chance.random() < 0.6:
            count = chance.choice((1, 3, 4, 6, 7, 9, chance.choice((0, 10))))
            clock += "." + "".join(chance.choices("0129", k=count))
    zone = one_of(_ZONES, _ODD_ZONES) if chance.random() < 0.6 else ""
    forms = (date, clock, f"{date}T{clock}{zone}", f"{date} {clock}{zone}", f"{date}t{clock}")
    text = chance.choices(forms, weights=(10, 10, 40, 40, 1))[0]
    if chance.random() < 0.03:
        place = chance.randrange(len(text) + 1)
        other = chance.choice(["", " ", "\n", "\uff12", "-", ":", "Z", "0"])
        text = text[:place] + other + text[place + 1 :]
    return text
