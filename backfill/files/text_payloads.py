"""Base class of CSV, JSON and Avro files, whose payloads are texts of records (for Avro, the record as JSON text)."""

import base64
from typing import Any

from braid.formats.mapped_column import MappedColumn


class TextPayloads:
    """A file each of whose values may have another kind than the one before."""

    def misfit(self, column: MappedColumn) -> str | None:
        """Return None: only a row shows what its values are (see `OpenedFile`)."""
        del column
        return None

    def shown(self, payload: bytes) -> dict[str, Any]:
        """Return the text of a record; bytes that are not UTF-8 as base64 (see `OpenedFile`)."""
        try:
            return {"record": payload.decode()}
        except UnicodeDecodeError:
            return {"record_base64": base64.b64encode(payload).decode()}
