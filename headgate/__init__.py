"""Periodic jobs on Redis for async Python: durable, exactly once per tick, with a trail that explains itself."""

from headgate.errors import HeadgateError

__all__ = ["HeadgateError", "__version__"]

__version__ = "0.1.0"
