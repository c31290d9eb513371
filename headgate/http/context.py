"""What a handler finds around a request: the store, hooks, options, who calls, and where the API stands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec
from aiohttp import web

from headgate.hooks import Hooks
from headgate.http.access import Access, Caller
from headgate.http.route import route_of
from headgate.http.shared import Shared
from headgate.models import Health
from headgate.store import Store


class Context(msgspec.Struct, frozen=True):
    """What an application was created with.

    Attributes:
        open_store: gives the namespace, and raises `StoreUnavailable` while there is none.
        hooks: what an application has to say of runs that are asked for.
        access: who may do what.
        environment: a name for people, as ``production``; '' for none.
        root_path: what a proxy in front cuts off the paths it passes on; '' for nothing.
        look: how the namespace stands, asked once for all who want to know at the same time.
    """

    open_store: Callable[[], Store]
    hooks: Hooks
    access: Access
    environment: str
    root_path: str
    look: Shared[Health]


CONTEXT: Final = web.AppKey("context", Context)
CALLER: Final = web.RequestKey("caller", Caller)


def store_of(request: web.Request) -> Store:
    """The namespace; raises `StoreUnavailable` while the application that has it is not open."""
    return request.app[CONTEXT].open_store()


def hooks_of(request: web.Request) -> Hooks:
    """The hooks of the application."""
    return request.app[CONTEXT].hooks


def caller_of(request: web.Request) -> Caller:
    """Who calls; without a name where nobody has to say."""
    return request[CALLER]


def link(request: web.Request, path: str) -> str:
    """A path of this API as its clients see it."""
    return mount_of(request, route_of(request).path) + path


def mount_of(request: web.Request, own: str) -> str:
    """What clients see before `own`, the path of a route: the root path, and where an application mounted the API."""
    resource = request.match_info.route.resource
    assert resource is not None
    return request.app[CONTEXT].root_path + resource.canonical.removesuffix(own)
