"""JSON Merge Patch (RFC 7396): the body of a PATCH, which has only the fields that change."""

from typing import Any, Final

from pydantic import RootModel

from braid.schemas.contract import JsonValue

MEDIA_TYPE: Final = "application/merge-patch+json"


class MergePatch(RootModel[dict[str, JsonValue]]):
    """The fields that change, as a JSON object.

    An object changes the fields of the object that is there, null removes a field, so that its default applies, and every other
    value, lists included, replaces what is there.
    """

    def applied_to(self, document: dict[str, Any]) -> dict[str, Any]:
        """Return a JSON object with the changes; neither is modified."""
        merged = _merged(document, self.root)
        assert isinstance(merged, dict), "the patch is an object"
        return merged


def _merged(value: Any, patch: Any) -> Any:
    if not isinstance(patch, dict):
        return patch
    merged = dict(value) if isinstance(value, dict) else {}
    for name, change in patch.items():
        if change is None:
            merged.pop(name, None)
        else:
            merged[name] = _merged(merged.get(name), change)
    return merged
