"""Answers that have an entity tag besides their fields, and the functions that read answers from responses."""

from collections.abc import Mapping
from typing import Any, TypeVar

import httpx
from pydantic import BaseModel

from braid.client.sending import Decode
from braid.schemas import StreamOffsets, WideRow
from braid.schemas.api import StreamView, TableView

ModelT = TypeVar("ModelT", bound=BaseModel)


class TableAnswer(TableView):
    """A registered table.

    Attributes:
        etag: Its version, for `if_match`.
    """

    etag: str | None = None


class StreamAnswer(StreamView):
    """A registered stream.

    Attributes:
        etag: Its version, for `if_match`.
    """

    etag: str | None = None


class OffsetsAnswer(StreamOffsets):
    """The position of a stream.

    Attributes:
        etag: Its version, for `if_match`.
    """

    etag: str | None = None


class RowAnswer(WideRow):
    """A row, and the snapshot that it was read from.

    Attributes:
        etag: Tag of the snapshot and the schema, for `row_if_changed`; None: the row may change without a snapshot.
    """

    etag: str | None = None


def as_model(model: type[ModelT]) -> Decode[ModelT]:
    """Return a function that reads an answer.

    Fields that the model does not have are ignored: a newer service may answer more. If the model has a field `etag`,
    it gets the header of that name.
    """

    def decode(response: httpx.Response) -> ModelT:
        values = response.json()
        if "etag" in model.model_fields and (etag := response.headers.get("etag")) is not None:
            values["etag"] = etag
        return model.model_validate(values, extra="ignore")

    return decode


def as_model_unless_known(model: type[ModelT]) -> Decode[ModelT | None]:
    """Return a function that reads an answer, and returns None for 304."""
    read = as_model(model)

    def decode(response: httpx.Response) -> ModelT | None:
        is_known = response.status_code == httpx.codes.NOT_MODIFIED
        return None if is_known else read(response)

    return decode


def as_document(response: httpx.Response) -> Mapping[str, Any]:
    """Return an answer as a JSON object."""
    document: Mapping[str, Any] = response.json()
    return document


def nothing(response: httpx.Response) -> None:
    """Return None for an answer without a body."""
    assert response.is_success, "refusals are errors"
