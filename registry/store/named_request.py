"""Named requests for schema changes, which are applied only once, even if they are sent again.

Pure. The name is the client's idempotency key. The document keeps the newest 50 names (`pending_schemas`), each with a
digest of its changes. So other changes under a known name are refused, and not mistaken for a repetition.
"""

import hashlib
from dataclasses import dataclass

from braid.registry.errors import DefinitionRefused
from braid.schemas import AppliedChange, FieldProblem, SchemaChanges, TableDocument


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedRequest:
    """A request for schema changes that has a name.

    Attributes:
        key: The request's name, unique in the table.
        digest: A digest of the changes: equal for equal changes.
    """

    key: str
    digest: str

    @classmethod
    def of(cls, key: str, changes: SchemaChanges) -> "NamedRequest":
        """Return the request for the changes under that name."""
        return cls(key=key, digest=hashlib.sha256(changes.model_dump_json().encode()).hexdigest())

    def is_made(self, document: TableDocument) -> bool:
        """Return whether the request is among the applied ones of the document.

        Raises:
            DefinitionRefused: A request for other changes has used this name.
        """
        found = next((change for change in document.applied if change.key == self.key), None)
        # Changes applied by an earlier version have no digest: the name alone decides.
        if found is None or found.digest in (None, self.digest):
            return found is not None
        problem = FieldProblem(
            pointer=None,
            field="idempotency-key",
            value=self.key,
            message="this key was used by a request for other changes",
            hint="send the same changes again, or give each request a key of its own",
        )
        text = (
            f"the request on {document.identifier} differs from the first one with its "
            "idempotency key"
        )
        raise DefinitionRefused(text, problems=[problem])

    def applied(self, schema_id: int) -> AppliedChange:
        """Return the record of the request for the document, once the schema is created."""
        return AppliedChange(key=self.key, digest=self.digest, schema_id=schema_id)
