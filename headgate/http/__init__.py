"""The HTTP API: the store's records as JSON, its errors as RFC 9457 problems."""

from headgate.http.app import SERVER_OPTIONS, create_app

__all__ = ["SERVER_OPTIONS", "create_app"]
