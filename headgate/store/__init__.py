"""The store: every read and write of Redis, one aggregate a module. Nothing above spells a key or sends a command."""

from headgate.store.store import Store

__all__ = ["Store"]
