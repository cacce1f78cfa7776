"""Named requests, whose change of a table's document is made only once, even if they are sent again.

Pure. The name is the client's idempotency key. The document keeps the newest names (`pending_schemas`), each with a
digest of its request. So another request under a known name is refused, and not mistaken for a repetition. A version of
the document has both a change and the name of its request, so neither is there without the other.
"""

from dataclasses import dataclass

from braid.registry.errors import KeyReused
from braid.schemas import AppliedChange, FieldProblem, TableDocument


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedRequest:
    """A request that has a name.

    Attributes:
        key: The request's name, unique in the table.
        digest: A digest of the request: equal for equal requests.
    """

    key: str
    digest: str

    def is_made(self, document: TableDocument) -> bool:
        """Return whether the request is among the applied ones of the document.

        Raises:
            KeyReused: Another request has used this name.
        """
        found = next((change for change in document.applied if change.key == self.key), None)
        # Changes applied by an earlier version have no digest: the name alone decides.
        if found is None or found.digest in (None, self.digest):
            return found is not None
        raise key_reused(self.key)

    def applied(self, schema_id: int) -> AppliedChange:
        """Return the record of the request for the document, once the change is made."""
        return AppliedChange(key=self.key, digest=self.digest, schema_id=schema_id)


def key_reused(key: str) -> KeyReused:
    """Return the error of a request whose idempotency key another request has used."""
    problem = FieldProblem(
        pointer=None,
        field="idempotency-key",
        value=key,
        message="this key was used by another request",
        hint="send the first request again, or give each request a key of its own",
    )
    text = "the request differs from the first one with its idempotency key"
    return KeyReused(text, problems=[problem])
