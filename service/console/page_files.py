"""The page of the console and the files that it loads, as they are served: media types, compressed bodies, entity tags.

Modules and styles are sent without comments and indentation, which are a tenth of them. The modules of the console are joined to one
script; those of libraries are sent as they are in the folder.

The page is always asked for again. All other files have an address with the digest of all files, so browsers and proxies may keep
them for good, and files of two versions of the console never mix.
"""

import gzip
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from braid.service.console.joined_modules import joined_modules

_FOLDER: Final = Path(__file__).parent / "static"
_PAGE: Final = "index.html"
_MEDIA_TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}
_VENDORED: Final = "vendor/"
_MODULES: Final = "js/"
_NAMES_OF_LIBRARIES: Final = "js/html.js"
_ENTRY: Final = "js/main.js"
_SCRIPT: Final = "js/console.js"
_DIGEST_CHARACTERS: Final = 16
_COMMENTS_AND_INDENTATION: Final = re.compile(
    r"^\s*/\*.*?\*/\n|^\s*//[^\n]*\n|^\s+", re.MULTILINE | re.DOTALL
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PageFile:
    """A file as it is served.

    Attributes:
        media_type: The media type.
        body: The bytes.
        compressed: The same in gzip.
        etag: The entity tag, of both forms: it is weak, because their bytes differ.
    """

    media_type: str
    body: bytes
    compressed: bytes
    etag: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PageFiles:
    """The page, and the files that it loads.

    Attributes:
        page: The page.
        digest: The digest of all files, a part of their addresses.
        files: The files by their paths below the digest.
    """

    page: PageFile
    digest: str
    files: Mapping[str, PageFile]


@cache
def page_files() -> PageFiles:
    """Return the files of the console, which are read and compressed once in a process."""
    contents = {
        path.relative_to(_FOLDER).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(_FOLDER.rglob("*"))
        if path.is_file()
    }
    digest = _digest_of("".join(map(_digest_of, contents.values())))
    page = contents.pop(_PAGE)
    own = {
        path: contents.pop(path)
        for path in list(contents)
        if path.startswith(_MODULES) and path != _NAMES_OF_LIBRARIES
    }
    contents[_SCRIPT] = joined_modules(own, entry=_ENTRY, script=_SCRIPT)
    modules = [path for path in contents if path.endswith(".js")]
    # The browser would find imports only module by module.
    preloads = "\n".join(f'<link rel="modulepreload" href="{digest}/{path}">' for path in modules)
    page = page.replace("{digest}", digest).replace("{preloads}", preloads)
    return PageFiles(
        page=_page_file(_PAGE, page),
        digest=digest,
        files={path: _page_file(path, body) for path, body in contents.items()},
    )


def _page_file(path: str, text: str) -> PageFile:
    body = (text if path.startswith(_VENDORED) else _shortened(text)).encode()
    return PageFile(
        media_type=_MEDIA_TYPES[Path(path).suffix],
        body=body,
        compressed=gzip.compress(body, mtime=0),
        etag=f'W/"{_digest_of(text)}"',
    )


def _shortened(text: str) -> str:
    r"""Return a module, a style or a page without the lines of comments and without indentation.

    >>> _shortened("// The sum.\nfunction sum() {\n  /* all */\n  return 1; // one\n}\n")
    'function sum() {\nreturn 1; // one\n}\n'
    """
    return _COMMENTS_AND_INDENTATION.sub("", text)


def _digest_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGEST_CHARACTERS]
