"""Names in Avro schemas: of types, of fields, and of the symbols of enums.

Every name that Avro's Java library accepts is accepted here, because most schemas are written with that library: names as in
the specification, but with the letters and digits of any script.

Source: Apache Avro 1.12 specification, "Names", "Enums"; its `NameValidator.UTF_VALIDATOR`.
"""

import re
from typing import Any, Final, TypeGuard

_NAME: Final = re.compile(r"[^\W\d]\w*")


def is_name(found: Any) -> TypeGuard[str]:
    """Return whether a value is the name of a field or symbol: letters, digits and `_`, no digit first."""
    return isinstance(found, str) and _NAME.fullmatch(found) is not None


def is_full_name(found: Any) -> TypeGuard[str]:
    """Return whether a value is the name of a type, with or without its namespace: names between dots."""
    return isinstance(found, str) and all(map(is_name, found.split(".")))
