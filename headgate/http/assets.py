"""The console: one page and its modules, as they stand in the package. It gets its data from the public API alone.

A module's address holds a hash of all of them together: relative imports lead to the same release, and browsers may
keep each for ever. The page itself is never kept.
"""

from __future__ import annotations

import hashlib
from functools import cache
from html import escape
from pathlib import Path
from typing import Final, NamedTuple

from aiohttp import hdrs, web

from headgate.http.context import mount_of

CONTENT_SECURITY_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
_FOLDER: Final = Path(__file__).parent / "console"
_TYPES: Final = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
_INDEX: Final = "/"
_ASSET: Final = "/assets/{release}/{folder}/{file}"
_FOR_EVER: Final = "public, max-age=31536000, immutable"


class _Release(NamedTuple):
    name: str
    files: dict[str, bytes]


@cache
def _release() -> _Release:
    """Every file, read once: a page that was begun with one release is not served half of another."""
    paths = sorted(path for path in _FOLDER.rglob("*") if path.suffix in _TYPES)
    files = {path.relative_to(_FOLDER).as_posix(): path.read_bytes() for path in paths}
    digest = hashlib.sha256()
    for name, content in files.items():
        digest.update(f"{name} {len(content)} ".encode() + content)
    return _Release(digest.hexdigest()[:16], files)


async def get_index(request: web.Request) -> web.Response:
    """The page."""
    release, root = _release(), escape(mount_of(request, _INDEX))
    base = f"{root}/assets/{release.name}"
    styles = [f'<link rel="stylesheet" href="{base}/{name}">' for name in release.files if name.endswith(".css")]
    modules = [f'<link rel="modulepreload" href="{base}/{name}">' for name in release.files if name.endswith(".js")]
    page = (
        f'<!doctype html><html lang="en" data-root="{root}"><head><meta charset="utf-8"><title>Headgate</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<link rel="icon" href="{base}/style/icon.svg">{"".join(styles)}{"".join(modules)}'
        f'<script type="module" src="{base}/app/main.js"></script></head>'
        '<body><div id="console"><noscript>The console needs JavaScript; the API does not: '
        f'<a href="{root}/docs/api">its page</a>.</noscript></div></body></html>\n'
    )
    headers = {"Content-Security-Policy": CONTENT_SECURITY_POLICY, "Referrer-Policy": "no-referrer"}
    return web.Response(text=page, content_type="text/html", headers=headers)


async def get_asset(request: web.Request) -> web.Response:
    """One module, style or picture, of this release alone."""
    release, info = _release(), request.match_info
    name = f"{info['folder']}/{info['file']}"
    if info["release"] != release.name or name not in release.files:
        raise web.HTTPNotFound
    return web.Response(
        body=release.files[name],
        content_type=_TYPES[Path(name).suffix],
        charset="utf-8",
        headers={hdrs.CACHE_CONTROL: _FOR_EVER},
    )


ROUTES: Final = (web.get(_INDEX, get_index), web.get(_ASSET, get_asset))
"""No part of the contract: nothing here is for programs."""
