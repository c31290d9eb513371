"""Periodic jobs on Redis for async Python: durable, exactly once per tick, with a trail that explains itself."""

__version__ = "0.1.0"
