"""Keys under which layers note in the scope of a request what the outermost layer counts."""

from typing import Final

ROUTE: Final = "braid.route"
"""Template of the path, noted by layers that answer before the framework, which notes its own."""

ROW: Final = "braid.row"
"""State of the row that the request is about: found, absent, complete or incomplete."""
