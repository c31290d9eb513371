"""What keeps the metrics true and bounded, and each line of a JSON log JSON."""

from __future__ import annotations

from tests.support.protections import Mutation

SCHEDULING = "tests/metrics/test_scheduling.py"
WORKING = "tests/metrics/test_working.py"
STANDING = "tests/metrics/test_standing.py"
CARDINALITY = "tests/metrics/test_cardinality.py"

METRICS = (
    Mutation(
        "metrics: names that others choose are cut off",
        "headgate/metrics.py",
        "if len(self._known) >= self._most:",
        "if False:",
        CARDINALITY,
    ),
    Mutation(
        "metrics: methods that callers make up are one",
        "headgate/metrics.py",
        "method if method in _METHODS else _OTHER",
        "method",
        CARDINALITY,
    ),
    Mutation(
        "metrics: a tick that stays due has no lateness yet",
        "headgate/metrics.py",
        'if outcome != "failed":',
        "if True:",
        SCHEDULING,
    ),
    Mutation(
        "metrics: an event that is not written is no decided tick",
        "headgate/metrics.py",
        'if word == "unrecorded":',
        "if False:",
        SCHEDULING,
    ),
    Mutation(
        "metrics: what the store could not take is counted",
        "headgate/scheduler.py",
        "metrics.count_failed(error.code, len(batch))",
        "pass",
        SCHEDULING,
    ),
    Mutation(
        "metrics: a standby has no lease to renew",
        "headgate/duty.py",
        "if self._held:\n            count_renewals_failed(self.name)",
        "if True:\n            count_renewals_failed(self.name)",
        SCHEDULING,
    ),
    Mutation(
        "metrics: an attempt that is another's by now is counted",
        "headgate/worker.py",
        'metrics.count_attempts([(running.claim.queue, "lost")])',
        "pass",
        WORKING,
    ),
    Mutation(
        "metrics: a worker without room is no refusal",
        "lua/admit.lua",
        "and capacity > 0 then refuse(",
        "then refuse(",
        WORKING,
    ),
    Mutation(
        "metrics: a paused queue refuses only what waits",
        "lua/admit.lua",
        "if gate.paused and redis.call('ZCARD', available) > 0 then",
        "if gate.paused then",
        WORKING,
    ),
    Mutation(
        "metrics: a store that is away is told",
        "headgate/exposition.py",
        "except (TimeoutError, StoreError):",
        "except TimeoutError:",
        STANDING,
    ),
    Mutation(
        "metrics: a silent store costs the time of one call",
        "headgate/exposition.py",
        "anyio.fail_after(store.settings.call_timeout_ms / 1000)",
        "anyio.fail_after(600)",
        STANDING,
    ),
    Mutation(
        "logs: every line is JSON, whatever the application set up",
        "headgate/cli/node.py",
        "force=as_json",
        "force=False",
        "tests/metrics/test_json_lines.py",
    ),
    Mutation(
        "metrics: what is no HTTP request is counted",
        "headgate/http/malformed.py",
        'observe_request("", "", STATUS[Code.INVALID_SYNTAX], 0)',
        "pass",
        "tests/http/test_malformed.py",
    ),
    Mutation(
        "metrics: an expectation that is refused is counted",
        "headgate/http/app.py",
        'observe_request(request.method, "", STATUS[Code.EXPECTATION_FAILED], 0)',
        "pass",
        "tests/http/test_problems.py",
    ),
    Mutation(
        "metrics: a crash is counted",
        "headgate/reclaimer.py",
        "    count_crashed(crashed.values())\n",
        "",
        "tests/metrics/test_working.py",
    ),
)
