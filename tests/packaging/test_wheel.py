"""The wheel holds what a checkout has: installed elsewhere, the same scripts are loaded."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from headgate import __version__
from headgate.store.loader import find_lua, load_scripts

ROOT = Path(__file__).parents[2]
LOADING = """
import json, sys
sys.path.insert(0, sys.argv[1])
import headgate
from headgate.store.loader import find_lua, load_scripts
shas = {name: script.sha for name, script in load_scripts().items()}
print(json.dumps([headgate.__file__, str(find_lua()), shas]))
"""


def pip(*args: str) -> None:
    quiet = ("--quiet", "--disable-pip-version-check", "--no-input")
    done = subprocess.run([sys.executable, "-m", "pip", *args, *quiet], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from this checkout, as a release is."""
    folder = tmp_path_factory.mktemp("wheel")
    isolation = ["--no-build-isolation"] if importlib.util.find_spec("hatchling") else []
    pip("wheel", "--no-deps", *isolation, "--wheel-dir", str(folder), str(ROOT))
    [built] = folder.iterdir()
    return built


@pytest.fixture(scope="module")
def contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def load_from(folder: Path, cwd: Path) -> tuple[Path, Path, dict[str, str]]:
    """In a fresh process that knows nothing of this checkout but what is installed."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [sys.executable, "-c", LOADING, str(folder)]
    run = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=True)
    package, lua, shas = json.loads(run.stdout)
    return Path(package), Path(lua), shas


def shas_here() -> dict[str, str]:
    return {name: script.sha for name, script in load_scripts().items()}


def test_the_wheel_is_pure_and_has_the_packages_version(wheel: Path) -> None:
    """One file for every platform."""
    assert wheel.name == f"headgate-{__version__}-py3-none-any.whl"


def test_the_wheel_holds_every_script_and_piece_as_they_are(contents: dict[str, bytes]) -> None:
    """No more and no fewer, byte for byte."""
    lua = ROOT / "lua"
    expected = {f"headgate/lua/{path.relative_to(lua).as_posix()}": path.read_bytes() for path in lua.rglob("*.lua")}
    assert {name: data for name, data in contents.items() if name.endswith(".lua")} == expected
    assert any(name.startswith("headgate/lua/lib/") for name in expected)


def test_the_wheel_holds_every_module_and_says_that_it_is_typed(contents: dict[str, bytes]) -> None:
    """Checked against the checkout."""
    package = ROOT / "headgate"
    modules = {path.relative_to(ROOT).as_posix() for path in package.rglob("*.py")}
    assert {name for name in contents if name.endswith(".py")} == modules
    assert "headgate/py.typed" in contents


def test_the_wheel_holds_the_console_as_it_is(contents: dict[str, bytes]) -> None:
    """Modules, styles and what is vendored with its licences and its manifest, byte for byte: nothing is built."""
    console = ROOT / "headgate" / "http" / "console"
    expected = {path.relative_to(ROOT).as_posix(): path.read_bytes() for path in console.rglob("*") if path.is_file()}
    assert {name: data for name, data in contents.items() if name.startswith("headgate/http/console/")} == expected
    vendor = "headgate/http/console/vendor"
    assert {f"{vendor}/MANIFEST.json", f"{vendor}/preact.LICENSE", f"{vendor}/htm.LICENSE"} <= set(expected)


def test_the_wheel_holds_nothing_else(contents: dict[str, bytes]) -> None:
    """No tests, no benchmarks, no caches: the package and its metadata."""
    assert {name.partition("/")[0] for name in contents} == {"headgate", f"headgate-{__version__}.dist-info"}
    assert {"tests", "benchmarks", "docs", "__pycache__"}.isdisjoint(
        {part for name in contents for part in name.split("/")}
    )
    assert any(name.endswith("licenses/LICENSE") for name in contents)


def test_the_wheel_announces_its_command(contents: dict[str, bytes]) -> None:
    """`headgate` is a program once it is installed."""
    points = contents[f"headgate-{__version__}.dist-info/entry_points.txt"].decode()
    assert "headgate = headgate.cli.main:main" in points


def test_an_installed_wheel_loads_the_same_scripts_as_the_checkout(wheel: Path, tmp_path: Path) -> None:
    """From inside of the package, byte for byte the same: a mixed fleet shares the server's script cache."""
    target = tmp_path / "site"
    pip("install", "--no-deps", "--no-compile", "--target", str(target), str(wheel))
    package, lua, shas = load_from(target, tmp_path)
    assert package == target / "headgate" / "__init__.py"
    assert lua == target / "headgate" / "lua"
    assert shas == shas_here()


def test_a_checkout_loads_its_own_scripts_from_anywhere(tmp_path: Path) -> None:
    """Beside the package, whatever the working directory: nothing has to be built first."""
    package, lua, shas = load_from(ROOT, tmp_path)
    assert package == ROOT / "headgate" / "__init__.py"
    assert lua == find_lua() == ROOT / "lua"
    assert shas == shas_here()
