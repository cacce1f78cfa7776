"""The records of `braid row what-if` and `braid row without`, from their options."""

import json
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from braid.cli.arguments import refuse
from braid.schemas import ArrivingRecord, LeftOutRecords
from braid.schemas.field_problems import field_path

ModelT = TypeVar("ModelT", bound=BaseModel)


def arriving_record(
    stream: str, *, value: str | None, key: str | None, file: Path | None
) -> ArrivingRecord:
    """Return the record that arrives; exit with one line when the options do not make one.

    Args:
        stream: The stream that reads it.
        value: Its value; None: a tombstone, or the file has it.
        key: Its Kafka key.
        file: A JSON file with the whole record instead.
    """
    record: Any = {"value": value, "key": key}
    if file is not None:
        if value is not None or key is not None:
            refuse(
                "--record-file", str(file), "cannot be given together with --value or --record-key"
            )
        try:
            record = json.loads(file.read_text(encoding="utf-8"))
        except OSError as error:
            refuse("--record-file", str(file), f"cannot be read: {error.strerror}")
        except ValueError as error:
            refuse("--record-file", str(file), f"expected JSON: {error}")
    return _model(ArrivingRecord, {"stream": stream, "record": record})


def left_out_records(
    stream: str, *, from_offset: int | None, partition: int | None
) -> LeftOutRecords:
    """Return the records that are left out; exit with one line when an option is out of bounds."""
    values = {"stream": stream, "from_offset": from_offset, "partition": partition}
    return _model(LeftOutRecords, values)


def _model(model: type[ModelT], values: dict[str, Any]) -> ModelT:
    try:
        return model.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        refuse(field_path(first["loc"]), first.get("input"), first["msg"])
