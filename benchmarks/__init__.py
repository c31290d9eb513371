"""Benchmarks: how fast the real thing is, beside something that does the same work in the same run.

``python -m benchmarks.burst`` measures a herd due at one instant beside a bare script that does the same writes,
``benchmarks.sustained`` a steady second, ``benchmarks.failing_hooks`` what failing hooks cost the others,
``benchmarks.jobs`` jobs through one worker beside other libraries, ``benchmarks.memory`` keys and bytes through a day
of moved time. Each starts private embedded stores in temporary folders and ends them; some may be given a store on
this machine instead, in which they use namespaces of their own and remove them. Ratios carry over to other machines,
absolute figures do not.
"""
