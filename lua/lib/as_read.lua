-- as_read: whether a schedule still stands where its reader saw it. `values` begins with revision, next_run_ms and
-- last_tick_ms; `read` is those three, comma-separated.
local function as_read(values, read)
  return values[1] and values[2] and values[1] .. ',' .. values[2] .. ',' .. (values[3] or '') == read
end
