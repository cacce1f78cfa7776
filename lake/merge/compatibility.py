"""Data class of a comparison with the reference, Apache Paimon 2.0, from which the docs are generated.

The comparisons themselves are declared with the functions (`functions/`) and the engines
(`braid.lake.declaration.engines`); comparisons that hold for all functions are in `docs/generator/function_pages.py`.

Source: merge-semantics 10.
"""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Compatibility:
    """A comparison with the reference.

    Attributes:
        subject: What is compared.
        verdict: `same`; `stricter`: less is accepted, and whatever is accepted behaves the same; or
            `other`: there is a defined result here, while the reference fails or leaves its result open.
        why: One sentence.
    """

    subject: str
    verdict: Literal["same", "stricter", "other"]
    why: str
