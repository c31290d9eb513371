"""What protects a process, and the scheduler in it, from clients that are slow, dead, or many."""

from __future__ import annotations

from tests.support.protections import Mutation

APP = "headgate/http/app.py"
SERVER = "headgate/http/server.py"
TURNS = "headgate/http/turns.py"
SLOW = "tests/http/test_slow_clients.py"
MANY = "tests/http/test_turns.py"

LOAD = (
    Mutation(
        "load: connections are bounded in number",
        SERVER,
        "len(self._server.connections) >= self._limits.connections",
        "False",
        SLOW,
    ),
    Mutation("load: a head has its time", SERVER, '"keepalive_timeout": limits.idle_s, ', "", SLOW),
    Mutation(
        "load: a body has its time",
        "headgate/http/body.py",
        "asyncio.timeout(_READ_SECONDS)",
        "asyncio.timeout(None)",
        SLOW,
    ),
    Mutation("load: what is left of a body has its time", SERVER, ', "lingering_time": limits.linger_s}', "}", SLOW),
    Mutation(
        "load: who does not read is cut off",
        SERVER,
        "excess <= 0 and now - began < self._limits.unread_s",
        "excess <= 0",
        SLOW,
    ),
    Mutation(
        "load: it is looked for",
        SERVER,
        "            self._drop_unread(asyncio.get_running_loop().time())\n",
        "",
        SLOW,
    ),
    Mutation(
        "load: who does not read is cut off while its connection closes too",
        SERVER,
        "for transport in self._transports if (size",
        "for transport in self._transports if not transport.is_closing() and (size",
        SLOW,
    ),
    Mutation(
        "load: all that is unread is bounded",
        SERVER,
        "sum(unread.values()) - self._limits.unread_bytes",
        "0",
        SLOW,
    ),
    Mutation(
        "load: the longest unread is given up first",
        SERVER,
        "sorted(self._since.items(), key=itemgetter(1))",
        "sorted(self._since.items(), key=itemgetter(1), reverse=True)",
        SLOW,
    ),
    Mutation("load: what is unread at the end is given up", SERVER, "            await connections.end()\n", "", SLOW),
    Mutation("load: few read at once", TURNS, "anyio.Semaphore(MAX_AT_ONCE, ", "anyio.Semaphore(1_000, ", MANY),
    Mutation("load: few write at once", TURNS, "anyio.Semaphore(MAX_WRITES, ", "anyio.Semaphore(1_000, ", MANY),
    Mutation(
        "load: readers keep no writer waiting", TURNS, "self._writes if writes else self._reads", "self._reads", MANY
    ),
    Mutation("load: too many are sent away", TURNS, "self._waiting >= MAX_WAITING", "False", MANY),
    Mutation(
        "load: nobody waits for ever", TURNS, "anyio.fail_after(MAX_WAIT_SECONDS)", "anyio.fail_after(None)", MANY
    ),
    Mutation(
        "load: probes take no turn", APP, "    if route.urgent:\n", "    if route.urgent and not route.store:\n", MANY
    ),
    Mutation("load: few probes at once", TURNS, "anyio.Semaphore(MAX_PROBES, ", "anyio.Semaphore(1_000, ", MANY),
    Mutation(
        "load: a body is read before its turn",
        APP,
        "        await preload(request)\n        return await _in_turn(request, route, handler)\n",
        "        async with turns.turn(writes=route.writes):\n"
        "            await preload(request)\n"
        "            return await handler(request)\n",
        f"{SLOW} {MANY}",
    ),
    Mutation(
        "load: large bodies are bounded in number",
        TURNS,
        "length is not None and length <= SMALL_BODY_BYTES",
        "True",
        MANY,
    ),
    Mutation(
        "load: small bodies do not wait for large ones",
        TURNS,
        "length is not None and length <= SMALL_BODY_BYTES",
        "False",
        MANY,
    ),
    Mutation(
        "load: nobody works for a client that is gone",
        APP,
        "        if request.transport is None:\n",
        "        if False:\n",
        SLOW,
    ),
    Mutation(
        "load: no answer waits for store time that is known",
        APP,
        "if asking is not None and times.now_ms is None:",
        "if asking is not None:",
        "tests/http/test_meta.py",
    ),
)
