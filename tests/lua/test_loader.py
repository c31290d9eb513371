"""Scripts as files: composed from pieces, with a contract at the top, small enough to be read at one go."""

from __future__ import annotations

import hashlib
import re

import pytest

from headgate import settings
from headgate.errors import StoreError
from headgate.names import TICK_JOB_PREFIX
from headgate.store.keys import PATTERNS, Keys, lua_key_functions
from headgate.store.loader import _CONSTANTS, Script, compose, find_lua, load_scripts
from tests.support.worlds import MOVED_CLOCK, World

SCRIPTS = {path.stem: path.read_text("utf-8") for path in sorted(find_lua().glob("*.lua"))}
LIBRARY = {path.stem: path.read_text("utf-8") for path in sorted((find_lua() / "lib").glob("*.lua"))}
HEAD = "#!lua\n-- Repeat:  harmless\n"

every_script = pytest.mark.parametrize("name", SCRIPTS)
every_piece = pytest.mark.parametrize("name", LIBRARY)


def composed(body: str, **library: str) -> Script:
    return compose("it", HEAD + body, library)


# composing, without any file


def test_a_piece_is_included_once_and_before_its_first_user() -> None:
    """However many ask for it, directly or through others."""
    library = {"base": "BASE\n", "left": "-- include: base\nLEFT\n", "right": "-- include: base\nRIGHT\n"}
    text = composed("-- include: left\n-- include: right\n-- include: base\nMAIN\n", **library).text
    assert re.findall("BASE|LEFT|RIGHT|MAIN", text) == ["BASE", "LEFT", "RIGHT", "MAIN"]


@pytest.mark.parametrize(
    ("library", "way"),
    [
        ({"a": "-- include: a\n"}, "it -> a -> a"),
        ({"a": "-- include: b\n", "b": "-- include: a\n"}, "it -> a -> b -> a"),
        ({"a": "-- include: it\n"}, "it -> a -> it"),
    ],
)
def test_includes_in_a_circle_are_refused_with_the_way_round(library: dict[str, str], way: str) -> None:
    """The message says who includes whom."""
    with pytest.raises(StoreError, match=re.escape(way)):
        composed("-- include: a\n", **library)


def test_a_missing_piece_is_refused_by_name() -> None:
    """At loading, not in the middle of a call."""
    with pytest.raises(StoreError, match="script it includes nothing_such, which does not exist"):
        composed("-- include: nothing_such\n")


@pytest.mark.parametrize(
    "source",
    [
        "-- Repeat:  harmless\n",
        "#!/bin/lua\n-- Repeat:  harmless\n",
        "#!lua\n",
        "#!lua\n-- Repeat:  maybe\n",
        "#!lua\n-- Repeat:\n",
        "",
    ],
)
def test_a_script_without_shebang_or_repeat_line_is_refused(source: str) -> None:
    """Both decide how it may be called; there is no default."""
    with pytest.raises(StoreError, match="lacks its #!lua line or its Repeat line"):
        compose("it", source, {})


@pytest.mark.parametrize(
    ("line", "repeatable"),
    [
        ("-- Repeat:  harmless", True),
        ("-- Repeat: harmless: says why", True),
        ("-- Repeat:  not harmless (says why)", False),
        ("-- Repeat:  not harmless", False),
    ],
)
def test_the_repeat_line_decides_whether_a_lost_answer_is_asked_again(line: str, repeatable: bool) -> None:
    """What a person reads in the contract is what the caller does."""
    assert compose("it", f"#!lua\n{line}\n", {}).repeatable is repeatable


def test_the_repeat_line_of_a_piece_counts_for_nothing() -> None:
    """The contract is the script's own."""
    library = {"piece": "-- Repeat: harmless\n"}
    with pytest.raises(StoreError):
        compose("it", "#!lua\n-- include: piece\n", library)


def test_the_shebang_stays_the_first_line() -> None:
    """The server reads its flags there; constants and key functions follow it."""
    text = compose("it", "#!lua flags=no-writes\n-- Repeat:  harmless\nreturn {key_due(), MAX_GAPS}\n", {}).text
    assert text.splitlines()[0] == "#!lua flags=no-writes"
    assert text.splitlines()[1] == "local MAX_GAPS = 100"


def test_constants_come_from_python_where_they_are_used() -> None:
    """Used in code, in the script or in a piece; a name in a comment, or inside of another name, is no use."""
    text = composed("-- MAX_EVENTS\nlocal MY_MAX_MANUAL_ = 1\n-- include: piece\n", piece="return MAX_GAPS\n").text
    assert re.findall(r"^local (\w+) = ", text, re.MULTILINE) == ["MAX_GAPS", "MY_MAX_MANUAL_"]


def test_the_sha_is_the_servers_name_for_the_text() -> None:
    """SHA-1 over the composed text."""
    script = composed("return 1\n")
    assert script.sha == hashlib.sha1(script.text.encode(), usedforsecurity=False).hexdigest()


def test_key_functions_are_made_for_the_families_in_use() -> None:
    """One for each, on the root that the script is given."""
    assert lua_key_functions("key_tick(a, b) key_due() key_due()") == (
        "local function key_due() return KEYS[1] .. 'due' end\n"
        "local function key_tick(a, b) return KEYS[1] .. 'tick:' .. a .. ':' .. b end\n"
    )


def test_a_key_family_that_does_not_exist_is_refused_at_loading() -> None:
    """A misspelt key never reaches a server."""
    with pytest.raises(KeyError, match="nonsense"):
        composed("return key_nonsense()\n")


# the files


def test_there_are_scripts_and_pieces() -> None:
    """The tables below are not empty, and what is loaded is what is there."""
    assert len(SCRIPTS) > 10
    assert len(LIBRARY) > 5
    assert set(load_scripts()) == set(SCRIPTS)


@every_script
def test_a_script_begins_with_its_contract(name: str) -> None:
    """What it is, KEYS, ARGV, Returns, Fails and Repeat, in this order, before the first line of code."""
    lines = SCRIPTS[name].splitlines()
    header = lines[1 : next(at for at, line in enumerate(lines) if at and not line.startswith("--"))]
    assert header[0].startswith(f"-- {name}: ")
    words = [match.group(1) for line in header if (match := re.match(r"-- ([A-Z][A-Za-z]+):? ", line))]
    assert words == ["KEYS", "ARGV", "Returns", "Fails", "Repeat"]


@every_piece
def test_a_piece_begins_with_what_it_is(name: str) -> None:
    """And has no shebang of its own."""
    assert LIBRARY[name].startswith(f"-- {name}: ")


@pytest.mark.parametrize(("name", "text"), [*SCRIPTS.items(), *LIBRARY.items()], ids=[*SCRIPTS, *LIBRARY])
def test_a_file_fits_120_lines(name: str, text: str) -> None:
    """What is longer is to be split."""
    assert len(text.splitlines()) <= 120, name


@pytest.mark.parametrize(("name", "text"), [*SCRIPTS.items(), *LIBRARY.items()], ids=[*SCRIPTS, *LIBRARY])
def test_no_include_is_misspelt_into_a_comment(name: str, text: str) -> None:
    """A line that looks like an include is one: else a piece would be missing at the first call."""
    asked = re.findall(r"include:\s*(\S+)", text)
    assert asked == re.findall(r"^-- include: ([a-z_]+)$", text, re.MULTILINE), name
    assert set(asked) <= set(LIBRARY)
    assert len(set(asked)) == len(asked)


def test_every_piece_is_used() -> None:
    """What nobody includes is dead."""
    asked = {name for text in (*SCRIPTS.values(), *LIBRARY.values()) for name in re.findall(r"include: (\w+)", text)}
    assert asked == set(LIBRARY)


@pytest.mark.parametrize("family", PATTERNS)
def test_every_key_family_is_used_by_a_script(family: str) -> None:
    """A key that only the table knows is dead, or spelt by hand somewhere."""
    assert any(
        re.search(rf"\bkey_{family}\(", script.text.partition("-- KEYS")[2]) for script in load_scripts().values()
    )


@pytest.mark.parametrize("constant", _CONSTANTS)
def test_every_constant_is_the_settings_one_and_used(constant: str) -> None:
    """One place for each limit."""
    expected = f"'{TICK_JOB_PREFIX}'" if constant == "TICK_JOB_PREFIX" else getattr(settings, constant)
    assert _CONSTANTS[constant] == expected
    assert any(f"local {constant} = {expected}\n" in script.text for script in load_scripts().values())


@every_script
def test_a_script_spells_no_key_by_hand(name: str) -> None:
    """Only `store/keys.py` knows how; `KEYS[1]` stands in the made functions alone."""
    assert "KEYS[" not in SCRIPTS[name]
    assert "'hg:" not in SCRIPTS[name]


@every_piece
def test_a_piece_spells_no_key_by_hand(name: str) -> None:
    """As a script."""
    assert "KEYS[" not in LIBRARY[name]


@every_script
def test_no_script_walks_the_keyspace_or_decodes_json(name: str) -> None:
    """Every call is bounded, and cjson ruins large integers and empty lists: it is for lists of texts alone."""
    text = load_scripts()[name].text
    assert not re.search(r"'(KEYS|SCAN|HSCAN|ZSCAN|SSCAN)'|cjson\.(?!encode\(hints\))|math\.random", text)


def test_which_scripts_may_be_repeated() -> None:
    """A change here is a change of contract: everything else may be asked again after a lost answer."""
    once = {"admit", "backfill", "delete", "fail", "fire", "job_control"}
    assert {name for name, script in load_scripts().items() if not script.repeatable} == once


def test_a_replaced_piece_changes_the_scripts_that_use_it_and_no_others() -> None:
    """Tests move the clock that way; the scripts of production stay as they are."""
    plain, moved = load_scripts(), load_scripts({"clock": MOVED_CLOCK})
    changed = {name for name in plain if plain[name].sha != moved[name].sha}
    assert changed == {name for name, script in plain.items() if "redis.call('TIME')" in script.text}
    assert "job" not in changed
    assert load_scripts() == plain


# the server's view


@every_script
async def test_the_server_takes_the_script_and_knows_it_by_our_sha(world: World, name: str) -> None:
    """It compiles, flags included, and the hash is the same."""
    script = load_scripts()[name]
    assert await world.client.script_load(script.text) == script.sha


@pytest.mark.parametrize("family", PATTERNS)
async def test_python_and_lua_spell_a_key_alike(world: World, family: str) -> None:
    """Also with parts that look like patterns or separators."""
    parts = ["a:{b}%s.%", "1-:"][: PATTERNS[family].count("%s")]
    arguments = ", ".join(f"ARGV[{at}]" for at in range(1, len(parts) + 1))
    script = composed(f"return key_{family}({arguments})\n")
    assert await world.client.eval(script.text, 1, world.keys.root, *parts) == world.keys(family, *parts)


def test_all_keys_of_a_namespace_share_one_hash_tag() -> None:
    """So every script touches one slot of a cluster, and no part of a key can bring another tag first."""
    keys = Keys("a.b-c")
    for family, pattern in PATTERNS.items():
        key = keys(family, *["{x}"] * pattern.count("%s"))
        assert re.search(r"\{(.*?)\}", key)[1] == "a.b-c"  # type: ignore[index]
        assert key.startswith("hg:{a.b-c}:")
