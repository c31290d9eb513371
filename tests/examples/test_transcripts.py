"""Every transcript of the docs with a curl in it is carried out as it stands, a file's blocks in order in one shell."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.commands import ROOT, Command, run_to_end, short_folder

BASH = ("bash", "-c")
CURL = re.compile(r"^(?:\$ )?(?:.*[=|(] *)?curl ", re.MULTILINE)
FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ADDRESS = "127.0.0.1:8420"

PRELUDE = """
set -euo pipefail
ask() {  # a time-out that the text asks for is how it leaves a stream
  local answer
  answer=$(command curl --silent --show-error --write-out '\\n%{http_code}' "$@" || [ $? = 28 ])
  status=${answer##*$'\\n'}
  printf '%s\\n' "${answer%$'\\n'*}"
}
curl() {
  ask "$@"
  (( status >= 200 && status < 400 )) || { echo "status $status: curl $*" >&2; return 22; }
}
refused() {
  ask "$@"
  (( status >= 400 && status < 500 )) || { echo "not refused, status $status: curl $*" >&2; return 22; }
}
"""


def fenced(path: Path) -> list[tuple[str, str]]:
    """Language and text of each block that has a curl."""
    return [(language, text) for language, text in FENCED.findall(path.read_text("utf-8")) if CURL.search(text)]


FILES = [path for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))) if fenced(path)]


def as_script(path: Path, address: str) -> str:
    """The file's blocks; what the text calls refused must be."""
    text = "".join(text for _, text in fenced(path)).replace("\\\n", " ")
    text = re.sub(r"^curl (.*# *refused)", r"refused \1", text, flags=re.MULTILINE)
    return text.replace(f"http://{ADDRESS}", address)


def open_to_all(_: Path) -> tuple[tuple[str, ...], str]:
    return (), ""


def with_a_token(folder: Path) -> tuple[tuple[str, ...], str]:
    """As the text says: a token is made, and is in `$token` of whoever has it."""
    code, lines = run_to_end("token", "anna", "--role", "operator", cwd=folder)
    assert code == 0, lines
    (token,) = (line for line in lines if line.startswith("hg_"))
    return ("--tokens", "tokens.toml"), f"token={token}\n"


SET_UPS: dict[str, Callable[[Path], tuple[tuple[str, ...], str]]] = {"docs/access.md": with_a_token}
"""By file: what `headgate serve` is told besides, and what the shell knows before."""


def carry_out(script: str, cwd: Path) -> tuple[int, str]:
    with Command(PRELUDE + script, cwd=cwd, program=BASH) as shell:
        code = shell.wait(seconds=30)
        return code, shell.output


def test_the_docs_have_transcripts_and_all_of_them_are_shell() -> None:
    names = {str(path.relative_to(ROOT)) for path in FILES}
    assert names >= {"README.md", "docs/http.md", *SET_UPS}
    assert {language for path in FILES for language, _ in fenced(path)} == {"sh"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_transcript_goes_as_it_is_told(path: Path) -> None:
    set_up = SET_UPS.get(str(path.relative_to(ROOT)), open_to_all)
    with short_folder() as folder:
        options, before = set_up(folder)
        with Command("serve", "--port", "0", *options, cwd=folder) as server:
            code, output = carry_out(before + as_script(path, server.address), folder)
            assert code == 0, output
            assert "Traceback" not in server.output


@pytest.mark.parametrize(
    ("line", "fine"),
    [
        ("curl -s $url/healthz", True),
        ("curl -s $url/api/v1/periodic/nobody", False),
        ("curl -s $url/api/v1/periodic/nobody  # refused: there is none", True),
        ("curl -s $url/healthz  # refused", False),
        ("it=$(curl -s $url/api/v1/periodic/nobody)", False),
        ("curl -s http://127.0.0.1:1/healthz", False),
        ("false", False),
    ],
)
def test_a_command_that_goes_otherwise_ends_the_transcript(line: str, fine: bool, tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text(f"```sh\n{line}\ncurl -s $url/healthz\necho told\n```\n", "utf-8")
    with short_folder() as folder, Command("serve", "--port", "0", cwd=folder) as server:
        ended, output = carry_out(f"url={server.address}\n{as_script(tmp_path / 'page.md', server.address)}", folder)
    assert (ended == 0, "told" in output.splitlines()) == (fine, fine), output
