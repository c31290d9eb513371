-- unwritten: a tick that was queued but could not be recorded gets its event now, where nobody will come back for it.
-- include: digits
-- include: events

local UNWRITTEN_FIELDS = {'last_tick_ms', 'anchor_ms', 'event_seq', 'failing_attempts'}

-- `values` are those fields. Returns the event's id, or nil where nothing was missing, or could not be written.
local function write_unwritten(id, values)
  local last_tick, anchor, seq = tonumber(values[1] or ''), tonumber(values[2] or ''), tonumber(values[3] or '')
  if not (last_tick and anchor and seq and last_tick > anchor) then return nil end
  local written = pcall(push_event, {
    seq = digits(seq + 1), id = id, tick = values[1], job_id = TICK_JOB_PREFIX .. id .. '-' .. values[1],
    outcome = 'enqueued', reason = 'replayed', attempts = digits((tonumber(values[4] or '') or 0) + 1),
  })
  return written and digits(seq + 1) or nil
end
