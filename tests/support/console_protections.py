"""What protects the console: what it may do in a browser, what it is served from, and who works with it."""

from __future__ import annotations

from tests.support.protections import Mutation

_CONSOLE = "headgate/http/console"
_ASSETS = "headgate/http/assets.py"
SERVED = "tests/http/test_assets.py"
ACCESS = "tests/console/test_access.py"
KEYBOARD = "tests/console/test_keyboard.py"
LIVE = "tests/console/test_live.py"
SCHEDULES = "tests/console/test_schedules.py"
FORM = "tests/console/test_form.py"

CONSOLE = (
    Mutation("console: its policy wants trusted types", _ASSETS, "require-trusted-types-for 'script'; ", "", SERVED),
    Mutation(
        "console: of another release nothing is served", _ASSETS, 'info["release"] != release.name or ', "", SERVED
    ),
    Mutation(
        "console: a file's name and length are part of the release",
        _ASSETS,
        'f"{name} {len(content)} ".encode() + content',
        "content",
        SERVED,
    ),
    Mutation(
        "console: a viewer sees no control",
        f"{_CONSOLE}/app/main.js",
        'who.session.role === "operator" && ',
        "",
        ACCESS,
    ),
    Mutation(
        "console: a dialog gives the focus back",
        f"{_CONSOLE}/ui/dialog.js",
        "before.current?.focus({ preventScroll: true });",
        "",
        KEYBOARD,
    ),
    Mutation(
        "console: a refresh leaves a filter half typed",
        f"{_CONSOLE}/pages/schedules.js",
        "value=${typed ?? label}",
        "value=${label}",
        LIVE,
    ),
    Mutation("console: hints are gathered", f"{_CONSOLE}/app/live.js", "waiting ??= setTimeout", "setTimeout", LIVE),
    Mutation(
        "console: rows are keyed",
        f"{_CONSOLE}/pages/schedules.js",
        "<${Row} key=${each.id}",
        "<${Row} key=${each.id + each.revision}",
        LIVE,
    ),
    Mutation(
        "console: delete asks for the id",
        f"{_CONSOLE}/pages/actions.js",
        "disabled=${typed !== schedule.id}",
        "",
        SCHEDULES,
    ),
    Mutation(
        "console: a write insists on what was read",
        f"{_CONSOLE}/pages/edit.js",
        '{ "If-Match": `"${base.revision}"` }',
        "{}",
        FORM,
    ),
    Mutation(
        "console: a dialog goes with its page",
        f"{_CONSOLE}/ui/dialog.js",
        'addEventListener("hashchange", leave);\n    return',
        "return",
        FORM,
    ),
    Mutation(
        "console: a preview keeps up with the time",
        f"{_CONSOLE}/pages/preview.js",
        "if (first) timer =",
        "if (false) timer =",
        FORM,
    ),
    Mutation(
        "console: a tab that nobody sees gives its stream back",
        f"{_CONSOLE}/app/live.js",
        "if (!document.hidden) return setLive(true);\n    source?.close();",
        "if (!document.hidden) return setLive(true);",
        LIVE,
    ),
    Mutation(
        "console: a tab that nobody sees reads nothing",
        f"{_CONSOLE}/app/live.js",
        "&& !document.hidden",
        "",
        LIVE,
    ),
    Mutation(
        "console: only its own pages are pages",
        f"{_CONSOLE}/pages/pages.js",
        "Object.hasOwn(PAGES, name)",
        "name in PAGES",
        "tests/console/test_whole.py",
    ),
    Mutation(
        "console: the trail has the states of its jobs",
        f"{_CONSOLE}/pages/trail.js",
        "${state && html` <${JobState} state=${state} />`}",
        "",
        SCHEDULES,
    ),
)
