"""Benchmarks: how fast the real scheduler is, beside a bare script that does the same writes in the same run.

``python -m benchmarks.burst`` measures a herd due at one instant, ``python -m benchmarks.sustained`` a steady second.
Each starts a private embedded store in a temporary folder and ends it, or uses one on this machine that it is given,
in a namespace of its own that it removes. Ratios carry over to other machines, absolute figures do not.
"""
