"""Requests with names of their own: made once, however often they are sent.

Pure. The document remembers each name with a digest of what was asked for, so that another request
under the same name is refused and not taken for a repetition.
"""

import hashlib
from dataclasses import dataclass

from registry.errors import DefinitionRefused
from schemas import AppliedChange, FieldProblem, SchemaChanges, TableDocument


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedRequest:
    """A request for schema changes that has a name.

    Attributes:
        key: Its name, unique in the table.
        digest: Of the changes, equal for equal ones.
    """

    key: str
    digest: str

    @classmethod
    def of(cls, key: str, changes: SchemaChanges) -> "NamedRequest":
        """Return the request of that name for some changes."""
        return cls(key=key, digest=hashlib.sha256(changes.model_dump_json().encode()).hexdigest())

    def is_made(self, document: TableDocument) -> bool:
        """Return whether the document remembers the request.

        Raises:
            DefinitionRefused: It remembers another one of that name.
        """
        found = next((change for change in document.applied if change.key == self.key), None)
        # Those made by an earlier version have no digest.
        if found is None or found.digest in (None, self.digest):
            return found is not None
        problem = FieldProblem(
            pointer=None,
            field="idempotency-key",
            value=self.key,
            message="a request for other changes has had this key",
            hint="send the same changes again, or give each request a key of its own",
        )
        text = f"the request is another one than the first of its key, on {document.identifier}"
        raise DefinitionRefused(text, problems=[problem])

    def applied(self, schema_id: int) -> AppliedChange:
        """Return what to remember of it, once it has led to a schema."""
        return AppliedChange(key=self.key, digest=self.digest, schema_id=schema_id)
