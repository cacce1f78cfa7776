"""Routes of the console: its page, the files that the page loads, and the way to it from `/`.

They are no part of the API, so the OpenAPI document does not have them.
"""

from collections.abc import Mapping
from typing import Final

from fastapi import APIRouter
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from braid.service.console.page_files import PageFile, page_files
from braid.service.entity_tags import is_known

ADDRESS: Final = "/console/"
_SAME_ORIGIN: Final = {
    "cross-origin-resource-policy": "same-origin",
    "x-content-type-options": "nosniff",
}
_OF_THE_PAGE: Final = {
    **_SAME_ORIGIN,
    "cache-control": "no-cache",
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    ),
    "cross-origin-opener-policy": "same-origin",
    "referrer-policy": "no-referrer",
}
_OF_A_FILE: Final = {**_SAME_ORIGIN, "cache-control": "public, max-age=31536000, immutable"}

router = APIRouter(include_in_schema=False)


async def get_root(request: Request) -> Response:
    """Send browsers to the console; for programs nothing is at this address."""
    if "text/html" not in request.headers.get("accept", ""):
        raise HTTPException(404)
    return RedirectResponse(ADDRESS, headers={"vary": "accept"})


async def get_without_slash(_: Request) -> Response:
    """Send a browser to the address that the page's relative links need."""
    return RedirectResponse(ADDRESS)


async def get_page(request: Request) -> Response:
    """Return the page."""
    return _answer(request, page_files().page, _OF_THE_PAGE)


async def get_file(request: Request) -> Response:
    """Return a file that the page loads; 404 if it is one of another version of the console."""
    found = page_files()
    file = found.files.get(request.path_params["path"])
    if file is None or request.path_params["digest"] != found.digest:
        raise HTTPException(404)
    return _answer(request, file, _OF_A_FILE)


def _answer(request: Request, file: PageFile, of_its_kind: Mapping[str, str]) -> Response:
    headers = {**of_its_kind, "etag": file.etag, "vary": "accept-encoding"}
    if is_known(file.etag, request.headers.get("if-none-match")):
        return Response(status_code=304, headers=headers)
    if "gzip" not in request.headers.get("accept-encoding", ""):
        return Response(file.body, media_type=file.media_type, headers=headers)
    headers["content-encoding"] = "gzip"
    return Response(file.compressed, media_type=file.media_type, headers=headers)


# Plain routes: they answer HEAD as well, and need nothing of the framework's parameters.
router.add_route("/", get_root, include_in_schema=False)
router.add_route("/console", get_without_slash, include_in_schema=False)
router.add_route(ADDRESS, get_page, include_in_schema=False)
router.add_route(ADDRESS + "{digest}/{path:path}", get_file, include_in_schema=False)
