"""What a store is reached with stays with us: no repr, error, traceback or log line shows user, password or key."""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import anyio
import pytest

from headgate import Headgate
from headgate.cli.node import Node
from headgate.cli.parser import Parser
from headgate.connect import check_server, connect, connect_pubsub, safe_url
from headgate.errors import HeadgateError, InvalidRequest, StoreUnavailable
from headgate.settings import Settings
from headgate.store import Store
from tests.support.commands import run_to_end
from tests.support.servers import PrivateServer

USER, PASSWORD, KEY_PASSWORD = "us3r-w0rd", "p4ss-w0rd/@:%", "k3y-w0rd"
CLIENT_KEY = "/etc/headgate/cl13nt-key.pem"
SECRETS = ("us3r", "p4ss", "w0rd", "k3y", "cl13nt")
"""Parts of them, for an escape or a cut must not make one pass."""

LOGIN = f"{USER}:{quote(PASSWORD, safe='')}"
TLS = f"ssl_certfile=/etc/headgate/cl13nt.pem&ssl_keyfile={CLIENT_KEY}&ssl_password={KEY_PASSWORD}"
URLS = (
    f"redis://{LOGIN}@127.0.0.1:1/0",
    f"redis://127.0.0.1:1/0?username={USER}&password={quote(PASSWORD, safe='')}",
    f"rediss://{LOGIN}@127.0.0.1:1/0?{TLS}",
    f"unix://{LOGIN}@/nowhere/valkey.sock?db=1",
)
FAST = Settings(call_timeout_ms=200)


def check(text: str) -> None:
    assert not [secret for secret in SECRETS if secret in text], text


def all_of(error: BaseException) -> str:
    """Whatever a log or a report of a crash would print of it."""
    return "\n".join([*traceback.format_exception(error), str(error), repr(error), repr(vars(error))])


@pytest.fixture(autouse=True)
def logged(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Nothing that is logged at any level shows them either, by us, redis-py, asyncio or anyio."""
    with caplog.at_level(logging.DEBUG):
        yield
    check("\n".join(f"{record.getMessage()} {record.__dict__} {record.exc_text}" for record in caplog.records))


@pytest.mark.parametrize("url", URLS)
async def test_no_repr_shows_them(url: str) -> None:
    """Neither a value nor, in whatever release of redis-py, the name of an option: what is hidden there is theirs."""
    node, app = Node(url, "default", FAST), Headgate(url)
    clients = [connect(url, FAST), connect_pubsub(url, FAST), *node._clients]
    seen: list[Any] = [node, node.store, app, FAST, Store(clients[0], "default", settings=FAST), *clients]
    for client in clients:
        seen += [client.connection_pool, client.pipeline(), client.pubsub()]
    for each in seen:
        text = f"{each} {each!r}"
        check(text)
        assert "username" not in text
        assert "password" not in text
    await node.close()


@pytest.mark.parametrize("url", URLS)
async def test_a_store_that_is_not_there_is_named_without_them(url: str) -> None:
    """Nobody listens, the socket or the client's certificate is missing."""
    check(safe_url(url))
    with pytest.raises(HeadgateError) as failed:
        async with Headgate(url, settings=FAST):
            pass
    check(all_of(failed.value))
    assert failed.value.__suppress_context__


@pytest.mark.parametrize(
    "url",
    [
        f"redis://{USER}:{PASSWORD}@127.0.0.1:1/0",
        f"http://{LOGIN}@127.0.0.1/0",
        f"redis://{LOGIN}@127.0.0.1:1/0?{TLS}",
        f"rediss://{LOGIN}@127.0.0.1:1/0?ssl_cert_reqs={KEY_PASSWORD}",
        f"rediss://{LOGIN}@127.0.0.1:1/0?ssl_{KEY_PASSWORD}=1",
        f"rediss://{LOGIN}@[127.0.0.1:1/0",
    ],
)
async def test_a_url_that_is_refused_is_not_quoted(url: str) -> None:
    check(safe_url(url))
    with pytest.raises(InvalidRequest) as refused:
        async with Headgate(url, settings=FAST):
            pass
    check(all_of(refused.value))


async def test_a_peer_that_does_not_speak_tls_hears_nothing() -> None:
    heard: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.read(4096))
        writer.write(b"-ERR what\r\n")
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        url = f"rediss://{LOGIN}@127.0.0.1:{server.sockets[0].getsockname()[1]}/0"
        with pytest.raises(StoreUnavailable) as failed:
            async with Headgate(url, settings=FAST):
                pass
    check(all_of(failed.value))
    check(repr(heard))


@asynccontextmanager
async def asked_who(server: PrivateServer) -> AsyncIterator[Callable[[str], str]]:
    """A server with a password, and a user who may do nothing but log in; yields how to do that."""
    with server.client() as admin:
        few = ["-@all", "+@connection"]
        admin.acl_setuser(f"{USER}-barred", enabled=True, passwords=[f"+{PASSWORD}"], commands=few)
        admin.config_set("requirepass", PASSWORD)
    yield lambda login: f"unix://{login}@{server.socket}?db=0"


@pytest.mark.parametrize(
    ("login", "words"),
    [
        ("", "refused authentication"),
        (f":wrong-{quote(PASSWORD, safe='')}", "refused authentication"),
        (f"{LOGIN}", "refused authentication"),
        (f"{USER}-barred:{quote(PASSWORD, safe='')}", "access rules forbid"),
    ],
)
async def test_a_log_in_that_is_refused_is_told_without_them(own_server: PrivateServer, login: str, words: str) -> None:
    """By the facade in its error, by a process in its log: the server's own words name the user."""
    said = anyio.Event()

    class Listener(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if "store.away" in record.getMessage():
                assert words in record.getMessage()
                said.set()

    async with asked_who(own_server) as url_of:
        with pytest.raises(StoreUnavailable, match=words) as failed:
            async with Headgate(url_of(login), settings=FAST):
                pass
        check(all_of(failed.value))
        node, listener = Node(url_of(login), "default", FAST), Listener()
        logging.getLogger("headgate").addHandler(listener)
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(node.check_store)
                with anyio.fail_after(5):
                    await said.wait()
                tasks.cancel_scope.cancel()
        finally:
            logging.getLogger("headgate").removeHandler(listener)
            await node.close()


async def test_a_log_in_that_works_shows_nothing_either(own_server: PrivateServer, tmp_path: Path) -> None:
    async with asked_who(own_server) as url_of:
        client = connect(url_of(f":{quote(PASSWORD, safe='')}"), FAST)
        check(repr(await check_server(client)))
        await client.aclose()
        for login in (f":{quote(PASSWORD, safe='')}", f"{USER}-barred:{quote(PASSWORD, safe='')}"):
            _, lines = run_to_end("health", "--redis", url_of(login), cwd=tmp_path)
            assert str(own_server.socket) in lines[0]
            check("\n".join(lines))


@pytest.mark.parametrize(
    "arguments",
    [
        ["serve", f"redis://{LOGIN}@host/0"],
        ["serve", f"--reids=redis://{USER}:{PASSWORD}@host/0"],
        [f"rediss://{LOGIN}@host/0", "serve"],
        ["serve", "--port", f"REDIS://{USER}:it's {PASSWORD}\n@host/0"],
        ["serve", "--port", f"redsi://{USER}:it's {PASSWORD}@host/0"],
    ],
)
def test_a_url_in_the_wrong_place_of_a_command_line_is_not_quoted(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    parser = Parser(prog="headgate")
    parser.add_subparsers(required=True).add_parser("serve").add_argument("--port", type=int)
    with pytest.raises(SystemExit) as ended:
        parser.parse_args(arguments)
    assert ended.value.code == 2
    printed = capsys.readouterr().err
    check(printed)
    assert "(a URL)" in printed
