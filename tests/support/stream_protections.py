"""What protects the promises of the stream: see `tests.support.protections`."""

from __future__ import annotations

from tests.support.protections import Mutation

HINTS = "tests/lua/test_hints.py"
TESTS = "tests/http/test_stream.py"
LISTENER = "headgate/http/listener.py"
HUB = "headgate/http/hub.py"

STREAM = (
    Mutation(
        "hints: access rules that forbid the channel fail no call",
        "lua/lib/hints.lua",
        "redis.pcall('PUBLISH'",
        "redis.call('PUBLISH'",
        HINTS,
    ),
    Mutation(
        "hints: a call says a thing once",
        "lua/lib/hints.lua",
        "if hinted[text] then return end",
        "",
        HINTS,
    ),
    Mutation("hints: a move is said", "lua/lib/moves.lua", "  hint_job(job.id)\n", "", HINTS),
    Mutation("hints: a removal is said", "lua/lib/ending.lua", "  hint_job(job.id)\n", "", HINTS),
    Mutation("hints: a cancel under way is said", "lua/job_control.lua", "    hint_job(id)\n", "", HINTS),
    Mutation(
        "hints: an unreadable message is a loss",
        "headgate/store/hints.py",
        "return [RESET]",
        "return []",
        TESTS,
    ),
    Mutation(
        "stream: it begins with a reset",
        LISTENER,
        "bytes] = {_RESET_KEY: _RESET_EVENT}",
        "bytes] = {}",
        TESTS,
    ),
    Mutation(
        "stream: what waits for a client is bounded",
        LISTENER,
        "or len(self._waiting) > self._limits.waiting",
        "",
        TESTS,
    ),
    Mutation(
        "stream: a client that does not read is cut off",
        LISTENER,
        "async with asyncio.timeout(self._limits.write_s):",
        "async with asyncio.timeout(None):",
        TESTS,
    ),
    Mutation(
        "stream: a client that does not read delays no shutdown",
        LISTENER,
        "        if self._writing:\n            self._transport.abort()\n",
        "",
        TESTS,
    ),
    Mutation(
        "stream: each write waits for its client",
        LISTENER,
        "await request.writer.drain()",
        "await asyncio.sleep(0)",
        TESTS,
    ),
    Mutation(
        "stream: the number of clients is bounded",
        HUB,
        "            raise TooManyStreams(",
        "            str(",
        TESTS,
    ),
    Mutation(
        "stream: a client that is gone takes no place",
        HUB,
        "for listener in self._listeners if listener.gone]",
        "for listener in self._listeners if False]",
        TESTS,
    ),
    Mutation(
        "stream: a store that is away and back is a reset",
        HUB,
        "            self.publish([RESET])\n",
        "",
        TESTS,
    ),
    Mutation(
        "stream: the subscription ends with the last client",
        HUB,
        "            self._scope.cancel()\n",
        "",
        TESTS,
    ),
    Mutation(
        "stream: where nobody tells anything any more, it ends",
        HUB,
        "        if scope is self._scope:",
        "        if False:",
        TESTS,
    ),
    Mutation(
        "stream: streams end before a server waits for them",
        "headgate/http/stream.py",
        "app.on_shutdown.append(end_streams)",
        "app.on_cleanup.append(end_streams)",
        TESTS,
    ),
)
