"""Schedules declared in a TOML file: what it declares, or everything that is wrong with it, by line and field. No I/O.

::

    owner = "reports"

    [defaults]
    queue = "reports"

    [[schedule]]
    id = "digest-eu"
    spec = "CRON_TZ=Europe/Berlin 0 9 * * MON-FRI"
    kind = "digest.send"
    timeout_ms = "15m"
    payload = {team = "eu"}
"""

from headgate.schedule_file.reader import Define, ScheduleFile, parse_file

__all__ = ["Define", "ScheduleFile", "parse_file"]
