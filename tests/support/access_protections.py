"""What protects who may use the API, and what nobody is to read."""

from __future__ import annotations

from tests.support.protections import Mutation

_ACCESS = "headgate/http/access"
_TESTS = "tests/http/access"
FILE = f"{_TESTS}/test_token_file.py"
TOKENS = f"{_TESTS}/test_tokens.py"
SESSIONS = f"{_TESTS}/test_sessions.py"
BROWSERS = f"{_TESTS}/test_browsers.py"
RULES = f"{_TESTS}/test_access.py"

ACCESS = (
    Mutation("access: a file of tokens is its owner's alone", f"{_ACCESS}/token_file.py", "& 0o077", "& 0", FILE),
    Mutation(
        "access: a file of tokens is ours or root's",
        f"{_ACCESS}/token_file.py",
        "found.st_uid not in (os.geteuid(), 0)",
        "False",
        FILE,
    ),
    Mutation(
        "access: what is opened is what is checked for its mode",
        f"{_ACCESS}/token_file.py",
        "            _check_private(path, found)\n",
        "",
        FILE,
    ),
    Mutation(
        "access: every token is compared, whichever matches",
        f"{_ACCESS}/tokens.py",
        "                found = token\n",
        "                return token\n",
        TOKENS,
    ),
    Mutation(
        "access: tokens are compared in constant time",
        f"{_ACCESS}/tokens.py",
        "hmac.compare_digest(token.digest, digest)",
        "token.digest == digest",
        TOKENS,
    ),
    Mutation(
        "access: a removed token is out of force without a restart",
        f"{_ACCESS}/tokens.py",
        "self._file is None or now - self._looked_at < LOOK_EVERY_S",
        "True",
        TOKENS,
    ),
    Mutation(
        "access: a broken file leaves the tokens in force",
        f"{_ACCESS}/tokens.py",
        "        except InvalidRequest as error:\n",
        "        except InvalidRequest as error:\n            self._all = self._own\n",
        TOKENS,
    ),
    Mutation(
        "access: trouble with the file of tokens is said once",
        f"{_ACCESS}/tokens.py",
        "            if not self._in_trouble:\n                log_event",
        "            if True:\n                log_event",
        TOKENS,
    ),
    Mutation(
        "access: a session ends in time", f"{_ACCESS}/sessions.py", "self._clock() >= content.until_s or ", "", SESSIONS
    ),
    Mutation(
        "access: a session ends with its token",
        f"{_ACCESS}/sessions.py",
        "return token if hmac.compare_digest(content.mark, self._mark(token)) else None",
        "return token",
        SESSIONS,
    ),
    Mutation(
        "access: a session is signed",
        f"{_ACCESS}/sessions.py",
        "self._signer.loads(value)",
        "self._signer.loads_unsafe(value)[1]",
        SESSIONS,
    ),
    Mutation(
        "access: what is in a cookie tells nothing of a token's hash",
        f"{_ACCESS}/sessions.py",
        'hmac.new(self._key, b"headgate.mark" + token.digest, hashlib.sha256)',
        'hashlib.sha256(b"headgate.mark" + token.digest)',
        SESSIONS,
    ),
    Mutation(
        "access: a bad Authorization is refused whatever the cookie is",
        f"{_ACCESS}/access.py",
        "            if token is None:\n                raise Unauthorized\n            return token.caller\n",
        "            if token is not None:\n                return token.caller\n",
        RULES,
    ),
    Mutation(
        "access: a viewer does no operator's work",
        f"{_ACCESS}/access.py",
        "            if not caller.role.covers(role):\n                raise Forbidden\n",
        "",
        RULES,
    ),
    Mutation("access: read-only", f"{_ACCESS}/access.py", "if writes and self.read_only:", "if False:", RULES),
    Mutation(
        "access: log-ins wait while they are limited, right ones too",
        f"{_ACCESS}/login.py",
        "    access.attempts.check(remote)\n    found = access.tokens.find(token)\n    if found is None:\n",
        "    found = access.tokens.find(token)\n    if found is None:\n        access.attempts.check(remote)\n",
        RULES,
    ),
    Mutation(
        "access: log-ins are limited in all",
        f"{_ACCESS}/attempts.py",
        "max(_wait(own, MAX_OF_ADDRESS, now), _wait(everyones, MAX_IN_ALL, now))",
        "_wait(own, MAX_OF_ADDRESS, now)",
        f"{_TESTS}/test_attempts.py",
    ),
    Mutation(
        "access: a name that was pointed here is refused",
        f"{_ACCESS}/browsers.py",
        "if host is None or not (host.needs_no_name_server or host.name in allowed):",
        "if host is None:",
        BROWSERS,
    ),
    Mutation(
        "access: a page of another site may not write",
        f"{_ACCESS}/browsers.py",
        'own = site in ("same-origin", "none")',
        "own = True",
        BROWSERS,
    ),
    Mutation(
        "access: an origin counts where Sec-Fetch-Site is not sent",
        f"{_ACCESS}/browsers.py",
        'own = origin is None or _is_own(origin, headers.get("Host", ""), allowed)',
        "own = True",
        BROWSERS,
    ),
    Mutation(
        "access: another port is another origin",
        f"{_ACCESS}/browsers.py",
        "return port == (called.port or default)",
        "return True",
        BROWSERS,
    ),
    Mutation(
        "access: edits of the file of tokens come one after the other",
        f"{_ACCESS}/token_edits.py",
        "        fcntl.flock(folder, fcntl.LOCK_EX)\n",
        "",
        "tests/cli/test_token.py",
    ),
    Mutation(
        "access: an edit of the file of tokens reads back as intended",
        f"{_ACCESS}/token_edits.py",
        "    if not as_intended:\n",
        "    if False:\n",
        "tests/cli/test_token.py",
    ),
    Mutation(
        "credentials: no repr of a client shows its options",
        "headgate/connect.py",
        'return f"<at most {self.max_connections} connections>"',
        "return super().__repr__()",
        "tests/unit/test_credentials.py",
    ),
    Mutation(
        "credentials: the command line does not quote a URL in the wrong place",
        "headgate/cli/parser.py",
        '_URL.sub("(a URL)", message)',
        "message",
        "tests/unit/test_credentials.py",
    ),
    Mutation(
        "access: links in a circle are said, whatever this Python raises for them",
        f"{_ACCESS}/token_edits.py",
        "except (OSError, RuntimeError):  # a loop of links",
        "except ZeroDivisionError:",
        "tests/cli/test_token.py",
    ),
    Mutation(
        "access: of several proxies the browser's own counts",
        "headgate/http/session.py",
        '.partition(",")[0]',
        "",
        "tests/http/test_who_may.py",
    ),
)
