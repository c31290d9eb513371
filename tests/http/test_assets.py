"""The console as a server hands it out: its policy, what browsers may keep, and nothing beside its own files."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from yarl import URL

from headgate.http import assets, make_api
from headgate.http.access import Access, Tokens
from tests.http.client import Client, quiet, serving, serving_app
from tests.support.worlds import World

CONSOLE = Path(assets.__file__).parent / "console"
VENDOR = CONSOLE / "vendor"
MODULES = sorted(CONSOLE.rglob("*.js"))
OWN = [module for module in MODULES if module.parent != VENDOR]
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
IMPORT = re.compile(r"""(?:^|;)(?:import|export)\b(?:[^;"']*?\bfrom)?\s*["']([^"']+)["']""", re.MULTILINE)
Fresh = Callable[[Path], str]


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[Fresh]:
    """Serve another folder; the name of its release."""

    def serve(folder: Path) -> str:
        monkeypatch.setattr(assets, "_FOLDER", folder)
        assets._release.cache_clear()
        return assets._release().name

    yield serve
    monkeypatch.undo()
    assets._release.cache_clear()


async def page_of(client: Client, path: str = "/") -> str:
    answer = await client.get(path)
    assert answer.status == 200
    return await answer.text()


def addresses(page: str) -> list[str]:
    return re.findall(r'(?:src|href)="([^"]*/assets/[^"]*)"', page)


async def test_the_page_has_a_strict_policy_and_is_never_kept(api: Client) -> None:
    """Scripts and styles of its own alone, trusted types, no frames: whatever a payload says, it is text."""
    answer = await api.get("/")
    assert answer.status == 200
    assert answer.content_type == "text/html"
    assert answer.headers.getall("Content-Security-Policy") == [POLICY]
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Referrer-Policy"] == "no-referrer"


async def test_the_page_has_no_inline_script_and_no_inline_style(api: Client) -> None:
    """Its own policy would refuse them."""
    page = await page_of(api)
    assert re.findall(r"<script(?![^>]*\bsrc=)", page) == []
    assert "<style" not in page
    assert " style=" not in page


async def test_every_asset_may_be_kept_for_ever_and_has_its_type(api: Client, fresh: Fresh) -> None:
    """Each module, style and picture of the folder, byte for byte; none that the page names is missing."""
    fresh(CONSOLE)
    found = addresses(await page_of(api))
    served: dict[str, bytes] = {}
    for address in set(found):
        answer = await api.get(address)
        assert answer.status == 200, address
        assert answer.headers["Cache-Control"] == "public, max-age=31536000, immutable"
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.content_type == assets._TYPES[Path(address).suffix]
        served["/".join(address.rsplit("/", 2)[-2:])] = await answer.read()
    files = [path for path in CONSOLE.rglob("*") if path.suffix in assets._TYPES]
    assert served == {path.relative_to(CONSOLE).as_posix(): path.read_bytes() for path in files}


def test_another_content_or_name_is_another_address(fresh: Fresh, tmp_path: Path) -> None:
    """The one hash is of all files together, since modules import each other by relative addresses."""
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "main.js").write_text("1;")
    (tmp_path / "app" / "other.js").write_text("2;")
    names = {fresh(tmp_path)}
    assert fresh(tmp_path) in names
    (tmp_path / "app" / "other.js").write_text("3;")
    names.add(fresh(tmp_path))
    (tmp_path / "app" / "other.js").rename(tmp_path / "app" / "another.js")
    names.add(fresh(tmp_path))
    (tmp_path / "app" / "main.js").write_text("1;3;")
    (tmp_path / "app" / "another.js").write_text("")
    names.add(fresh(tmp_path))
    assert len(names) == 4


async def test_of_another_release_nothing_is_served(api: Client) -> None:
    """Neither half of a new one to an old page, nor something else that is then kept for ever."""
    [address, *_] = addresses(await page_of(api))
    release = address.split("/")[2]
    for wrong in ("0" * 16, release.upper(), release[:-1], ""):
        answer = await api.get(address.replace(release, wrong))
        assert answer.status == 404
        assert answer.headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize(
    "path",
    [
        "app/none.js",
        "vendor/MANIFEST.json",
        "vendor/htm.LICENSE",
        "../assets.py",
        "..%2fassets.py",
        "app/..%2f..%2fassets.py",
        "app%2f..%2f..%2fassets.py/x",
        "app/%2e%2e",
        "app/",
        "app//main.js",
        "%2fetc/passwd",
        "app/main.js%00",
        "app/main.js/",
    ],
)
async def test_nothing_is_served_that_is_no_asset(api: Client, path: str) -> None:
    """Addresses are looked up among names that were read at the start; no path is ever made of one."""
    answer = await api.get(URL(f"/assets/{assets._release().name}/{path}", encoded=True))
    assert answer.status == 404
    assert "import" not in await answer.text()


async def test_anybody_may_have_the_page_where_callers_are_asked(world: World) -> None:
    """It holds nothing of the store, and its log-in is on it."""
    async with serving(world.store, access=Access(tokens=Tokens("hg_a-token-0123456789"))) as client:
        assert (await client.get("/api/v1/periodic")).status == 401
        found = addresses(await page_of(client))
        assert (await client.get(found[0])).status == 200


@pytest.mark.parametrize(
    ("root_path", "mount", "root"),
    [("", "", ""), ("/ops", "", "/ops"), ("", "/jobs", "/jobs"), ("/ops", "/jobs", "/ops/jobs")],
)
async def test_the_page_knows_where_it_stands(world: World, root_path: str, mount: str, root: str) -> None:
    """Below what a proxy cuts off and where an application has mounted it; its addresses begin with the same."""
    api = make_api(lambda: world.store, quiet, root_path=root_path)
    outer = web.Application()
    if mount:
        outer.add_subapp(mount, api)
    async with serving_app(outer if mount else api, None) as client:
        page = await page_of(client, f"{mount}/")
        assert f'data-root="{root}"' in page
        found = addresses(page)
        assert found
        assert all(address.startswith(f"{root}/assets/") for address in found)
        assert (await client.get(found[0].removeprefix(root_path))).status == 200


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.relative_to(CONSOLE).as_posix())
def test_every_import_is_a_file_that_is_there(module: Path) -> None:
    """By a relative path, so that any prefix will do; the browser has no resolver for names."""
    text = re.sub(r"/\*\*.*?\*/", "", module.read_text(), flags=re.DOTALL)  # types in comments are no imports
    assert not re.search(r"\bimport\s*\(", text)
    for name in IMPORT.findall(text):
        assert name.startswith(("./", "../")), name
        assert (module.parent / name).resolve() in MODULES, name


@pytest.mark.parametrize("module", OWN, ids=lambda path: path.relative_to(CONSOLE).as_posix())
def test_every_module_is_short_says_what_it_is_and_asks_no_other_host(module: Path) -> None:
    text = module.read_text()
    assert len(text.splitlines()) <= 250
    assert text.startswith("/**")
    assert not re.search(r"\b(?:https?|wss?):|[\"'`]//", text)
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|dangerously", text
    )


def test_no_style_brings_in_anything_from_elsewhere() -> None:
    for style in CONSOLE.rglob("*.css"):
        assert not re.search(r"@import|url\(|https?:", style.read_text()), style


def manifest() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((VENDOR / "MANIFEST.json").read_text())["packages"]
    return found


def test_the_manifest_of_what_is_vendored_is_true() -> None:
    """Every file, no other, each with its hash; a licence beside each package; names, versions and what was changed."""
    shipped: dict[str, str] = {}
    for package in manifest():
        assert re.fullmatch(r"\d+\.\d+\.\d+", package["version"])
        assert package["license"] in ("MIT", "Apache-2.0")
        assert package["source"].endswith(f"/{package['name']}-{package['version']}.tgz")
        assert f"{package['name']}.LICENSE" in {each["file"] for each in package["files"]}
        shipped |= {each["file"]: each["sha256"] for each in package["files"]}
    there = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in VENDOR.iterdir()}
    del there["MANIFEST.json"]
    assert shipped == there
    assert "sourceMappingURL" not in "".join(path.read_text() for path in VENDOR.glob("*.js"))
