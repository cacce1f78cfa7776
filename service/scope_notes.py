"""Keys under which layers note in the scope of a request what the outermost layer counts and logs."""

from typing import Final

ROUTE: Final = "braid.route"
"""Template of the path, noted by layers that answer before the framework, which notes its own."""

CLIENT: Final = "braid.client"
"""Name of the client, once it is known; that of a token, or `<issuer>/<subject>`."""

ROW: Final = "braid.row"
"""State of the row that the request is about: found, absent, complete or incomplete."""
