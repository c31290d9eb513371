"""The contract as a page: written from the document, without scripts, and with nothing from another host."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from html import escape
from itertools import groupby
from typing import Any, Final

_STYLE: Final = """
:root { color-scheme: light dark; --line: light-dark(#d8dce2, #3a404a); --soft: light-dark(#f4f5f7, #1d2127);
  --dim: light-dark(#566070, #a3acba); --get: light-dark(#0b6b3a, #6fd39b); --change: light-dark(#8a4b00, #f0b060) }
* { box-sizing: border-box }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 0 auto; padding: 1.5rem 1rem 4rem }
h1 { margin: 0 } h2 { margin: 2.5rem 0 .5rem; text-transform: capitalize } h3 { font-size: 1rem; margin: 1rem 0 .3rem }
nav { margin: 1rem 0; display: flex; flex-wrap: wrap; gap: .3rem 1rem } p { margin: .4rem 0 }
code { font: .9em/1.4 ui-monospace, monospace; overflow-wrap: anywhere } .dim { color: var(--dim) }
details { border: 1px solid var(--line); border-radius: .5rem; margin: .4rem 0 }
summary { padding: .5rem .8rem; cursor: pointer } details[open] summary { border-bottom: 1px solid var(--line) }
details > div { padding: .3rem .8rem .8rem; overflow-x: auto }
.method { display: inline-block; min-width: 4.5rem; font-weight: 600; color: var(--change) } .get { color: var(--get) }
table { border-collapse: collapse; width: 100% } th { text-align: left }
th, td { border-top: 1px solid var(--line); padding: .3rem .6rem .3rem 0; vertical-align: top }
"""
_HASH: Final = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()

CONTENT_SECURITY_POLICY: Final = (
    f"default-src 'none'; style-src 'sha256-{_HASH}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


def render(document: Mapping[str, Any]) -> str:
    """The page of a document as `headgate.http.openapi.describe` writes it."""
    operations = [
        (operation["tags"][0], method, path, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    operations.sort(key=lambda each: each[0])
    groups = [(tag, list(several)) for tag, several in groupby(operations, key=lambda each: each[0])]
    schemas = document["components"]["schemas"]
    info, root = document["info"], document["servers"][0]["url"].rstrip("/")
    parts = [
        f"<h1>{escape(info['title'])} <span class=dim>{escape(info['version'])}</span></h1>",
        f"<p>{escape(info['summary'])} {escape(info['description'])}</p>",
        f'<p>For programs: <a href="{escape(root)}/api/v1/openapi.json"><code>openapi.json</code></a>.</p>',
        "<nav>",
        *(f'<a href="#{escape(tag)}">{escape(tag)}</a>' for tag, _ in groups),
        '<a href="#types">types</a></nav>',
    ]
    for tag, several in groups:
        parts.append(f'<h2 id="{escape(tag)}">{escape(tag)}</h2>')
        parts += [_operation(method, path, operation) for _, method, path, operation in several]
    parts.append('<h2 id="types">types</h2>')
    parts += [_type(name, schemas[name]) for name in sorted(schemas)]
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>Headgate API</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{_STYLE}</style><body>{''.join(parts)}</body></html>\n"
    )


def _operation(method: str, path: str, operation: Mapping[str, Any]) -> str:
    css = "method get" if method == "get" else "method"
    head = f'<span class="{css}">{method.upper()}</span> <code>{escape(path)}</code> {_text(operation["summary"])}'
    parts = [f"<details><summary>{head}</summary><div>"]
    if "description" in operation:
        parts.append(f"<p>{_text(operation['description'])}</p>")
    who = f"a token with the role {operation['x-role']}" if "x-role" in operation else "everybody"
    parts.append(f"<p class=dim>For {who}.</p>")
    if parameters := operation["parameters"]:
        rows = (
            (f"<code>{escape(each['name'])}</code>", f"{each['in']}{', required' if each['required'] else ''}",
             _kind(each["schema"]), _text(each["description"]))
            for each in parameters
        )  # fmt: skip
        parts.append(_table("Parameters", rows))
    if body := operation.get("requestBody"):
        parts.append(f"<h3>Body</h3><p>{_contents(body['content'])}{'' if body['required'] else ', optional'}</p>")
    parts.append(_table("Answers", _answers(operation["responses"])))
    return "".join((*parts, "</div></details>"))


def _answers(responses: Mapping[str, Any]) -> Iterator[Iterable[str]]:
    for status, answer in responses.items():
        content = answer.get("content", {})
        known = [code for each in content.values() for code in _codes(each["schema"])]
        yield (
            f"<code>{status}</code> {escape(answer['description'])}",
            ", ".join(f"<code>{escape(code)}</code>" for code in known) or _contents(content),
        )


def _codes(schema: Mapping[str, Any]) -> list[str]:
    known = (part.get("properties", {}).get("code", {}) for part in schema.get("allOf", ()))
    return [code for each in known for code in each.get("enum", ())]


def _contents(content: Mapping[str, Any]) -> str:
    return ", ".join(f"{escape(media)}: {_kind(each['schema'])}" for media, each in content.items()) or "no body"


def _type(name: str, schema: Mapping[str, Any]) -> str:
    head = f"<code>{escape(name)}</code> {_text(schema.get('description', ''))}"
    # The name stands inside: a browser opens what holds the target of a link.
    parts = [f'<details><summary>{head}</summary><div id="{escape(name)}">']
    if "enum" in schema:
        parts.append(f"<p>{_kind(schema)}</p>")
    required = schema.get("required", ())
    rows = (
        (f"<code>{escape(field)}</code>", _kind(about), "required" if field in required else "",
         _text(about.get("description", "")))
        for field, about in schema.get("properties", {}).items()
    )  # fmt: skip
    parts.append(_table("", rows))
    return "".join((*parts, "</div></details>"))


def _kind(schema: Mapping[str, Any]) -> str:
    if "$ref" in schema:
        name = escape(schema["$ref"].rpartition("/")[2])
        return f'<a href="#{name}">{name}</a>'
    if "enum" in schema:
        return " | ".join(f"<code>{escape(str(each))}</code>" for each in schema["enum"])
    for word in ("anyOf", "allOf", "oneOf"):
        if word in schema:
            return " | ".join(dict.fromkeys(_kind(each) for each in schema[word]))
    kind = escape(str(schema.get("type", "any")))
    if "items" in schema:
        kind = f"list of {_kind(schema['items'])}"
    if isinstance(schema.get("additionalProperties"), dict):
        kind = f"{_kind(schema['additionalProperties'])} by name"
    return kind + (f", {schema['default']!r} unless given" if schema.get("default") not in (None, "") else "")


def _table(title: str, rows: Iterable[Iterable[str]]) -> str:
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    heading = f"<h3>{title}</h3>" if title else ""
    return f"{heading}<table>{body}</table>" if body else ""


def _text(text: str) -> str:
    """Prose of a docstring: what stands in backquotes is code."""
    return re.sub(r"``?([^`]+)``?", r"<code>\1</code>", escape(text))
