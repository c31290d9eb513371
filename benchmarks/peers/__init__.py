"""The contenders of ``python -m benchmarks.jobs``: each enqueues no-op jobs, and works them off in another process.

Peers run under an interpreter of their own environment, from `benchmarks.peers.environments`, and import no headgate.
"""
