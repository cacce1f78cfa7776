"""Media types that a client accepts, by the header `accept` (RFC 9110, 12.5.1)."""

from collections.abc import Mapping


def weights_of(accept: str) -> Mapping[str, float]:
    """Return the weights of the media ranges of a header; 0 for a weight that is no number.

    >>> weights_of("application/json, text/*;q=0.5")
    {'application/json': 1.0, 'text/*': 0.5}
    """
    return dict(_weight(part) for part in accept.split(","))


def weight_in(weights: Mapping[str, float], media_type: str) -> float:
    """Return the weight of a media type, by the most specific range that it belongs to; 0 if there is none.

    >>> weights = weights_of("application/json;q=0, */*;q=0.1")
    >>> [weight_in(weights, one) for one in ("application/json", "text/event-stream")]
    [0.0, 0.1]
    """
    kind, _, _ = media_type.partition("/")
    for media_range in (media_type, f"{kind}/*", "*/*"):
        if media_range in weights:
            return weights[media_range]
    return 0.0


def _weight(part: str) -> tuple[str, float]:
    name, *parameters = (text.strip().lower() for text in part.split(";"))
    for parameter in parameters:
        if parameter.startswith("q="):
            try:
                return name, float(parameter[2:])
            except ValueError:
                return name, 0.0
    return name, 1.0
