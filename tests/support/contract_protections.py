"""What protects the contract: that answers are what it says, that requests are read strictly, that pages join."""

from __future__ import annotations

from tests.support.protections import Mutation

_HTTP = "headgate/http"
_TESTS = "tests/http"
CONTRACT = f"{_TESTS}/test_contract.py"
BAD_INPUT = f"{_TESTS}/test_bad_input.py"
CONDITIONS = f"{_TESTS}/test_conditions.py"
CURSORS = f"{_TESTS}/test_hostile_cursors.py"
PAGING = f"{_TESTS}/test_paging.py"

CONTRACTS = (
    Mutation(
        "contract: an answer has no other fields than it says",
        f"{_HTTP}/quarantine.py",
        "answer(Barred(fingerprint),",
        "answer({'fingerprint': fingerprint, 'since_ms': 0},",
        f"{_TESTS}/test_quarantine.py",
    ),
    Mutation(
        "contract: an answer has all the fields it says",
        f"{_HTTP}/queues.py",
        'return answer(await store_of(request).queues.list(limit=query.integer("limit"), cursor=query.cursor()))',
        'page = await store_of(request).queues.list(limit=query.integer("limit"), cursor=query.cursor())\n'
        "    return answer({'queues': page.queues} | ({'next_cursor': page.next_cursor} if page.next_cursor else {}))",
        f"{_TESTS}/test_queues.py",
    ),
    Mutation(
        "contract: an answer has no other status than it says",
        f"{_HTTP}/control.py",
        "answer(enqueued, status=202,",
        "answer(enqueued, status=203,",
        f"{_TESTS}/test_control.py",
    ),
    Mutation(
        "contract: an answer has no other headers than it says",
        f"{_HTTP}/periodic.py",
        'reading(SCHEDULE_PATH, get_schedule, Schedule, returns=("ETag",), errors=_GONE)',
        "reading(SCHEDULE_PATH, get_schedule, Schedule, errors=_GONE)",
        CONDITIONS,
    ),
    Mutation(
        "contract: a refusal has no other code than it says",
        f"{_HTTP}/control.py",
        "errors=(*_GONE, Code.NOT_PAUSED)",
        "errors=(*_GONE, Code.CONFLICT)",
        f"{_TESTS}/test_control.py",
    ),
    Mutation(
        "contract: who insists on a revision is told that it may be refused",
        f"{_HTTP}/route.py",
        "        yield Code.REVISION_MISMATCH\n",
        "        yield Code.CONFLICT\n",
        CONDITIONS,
    ),
    Mutation(
        "contract: its integers are those that every reader keeps",
        f"{_HTTP}/openapi.py",
        '    if bounded.get("type") == "integer":\n',
        "    if False:\n",
        CONTRACT,
    ),
    Mutation(
        "contract: it names the path that clients find the API below",
        f"{_HTTP}/openapi.py",
        '[{"url": root or "/"}]',
        '[{"url": "/"}]',
        CONTRACT,
    ),
    Mutation(
        "requests: a query parameter that is not known is refused",
        f"{_HTTP}/query.py",
        "            if name not in self._known:\n",
        "            if name not in self._known and False:\n",
        BAD_INPUT,
    ),
    Mutation(
        "requests: a query parameter is given once",
        f"{_HTTP}/query.py",
        "            if name in self._values:\n",
        "            if False:\n",
        BAD_INPUT,
    ),
    Mutation(
        "requests: a header that says one thing is given once",
        f"{_HTTP}/query.py",
        "    if len(values) > 1:\n",
        "    if False:\n",
        BAD_INPUT,
    ),
    Mutation(
        "requests: a field of a body that is not known is refused",
        f"{_HTTP}/body.py",
        "    for name in value:\n        if name not in fields:\n",
        "    value = {name: value[name] for name in fields if name in value}\n"
        "    for name in value:\n        if name not in fields:\n",
        BAD_INPUT,
    ),
    Mutation(
        "requests: the name of a request comes back only if it is a plain word",
        f"{_HTTP}/problems.py",
        "given if _REQUEST_ID.fullmatch(given) else",
        "given if given else",
        f"{_TESTS}/test_hostile_headers.py",
    ),
    Mutation(
        "cursors: one of another list is refused",
        "headgate/store/paging.py",
        "if found != scope or not separator",
        "if not separator",
        CURSORS,
    ),
    Mutation(
        "cursors: one is spelt in one way",
        "headgate/store/paging.py",
        " or not position or write_cursor(found, position) != cursor:",
        " or not position:",
        "tests/lua/test_reads.py",
    ),
    Mutation(
        "pages: a list that grows at its head goes on behind what was met",
        "headgate/store/paging.py",
        "start = names.index(last) + 1 if last in names else len(entries)",
        "start = names.index(last) if last in names else len(entries)",
        PAGING,
    ),
    Mutation(
        "pages: the workers go on behind the last one met",
        "headgate/store/workers.py",
        "if _id_of(row) > after]",
        "if _id_of(row) >= after]",
        PAGING,
    ),
    Mutation(
        "pages: schedules go on behind the place of one that is gone",
        "lua/list.lua",
        "then from = '(' .. after end",
        "then from = redis.call('ZSCORE', key_schedules(), after) and '(' .. after or from end",
        PAGING,
    ),
    Mutation(
        "pages: jobs go on behind the place of one that is gone",
        "lua/job_list.lua",
        "rank_past(ARGV[5], tonumber(ARGV[4]))",
        "((redis.call('ZRANK', set, ARGV[5]) or -1) + 1)",
        PAGING,
    ),
    Mutation(
        "pages: events go on at the same one while new ones come",
        "headgate/store/events.py",
        "write_cursor(scope, str(events[-1].event_id))",
        "write_cursor(scope, str(events[-1].event_id + 1))",
        PAGING,
    ),
)
