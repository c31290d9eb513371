"""The HTTP API: the store's records as JSON, its errors as RFC 9457 problems, and who may use it."""

from headgate.http.app import SERVER_OPTIONS, create_app, make_api

__all__ = ["SERVER_OPTIONS", "create_app", "make_api"]
