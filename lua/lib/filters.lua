-- filters: which schedules a list shows. Filters are '' for none: text that the labels have, '1' or '0' for paused and failing.

local function filters_from(label, paused, failing)
  local filters = {label = label, paused = paused, failing = failing}
  filters.any = label ~= '' or paused ~= '' or failing ~= ''
  return filters
end

-- A label's name begins after a brace or a comma: inside a text, the quote before it would have a backslash.
local function has_label(labels, label)
  return string.find(labels, '{' .. label, 1, true) or string.find(labels, ',' .. label, 1, true)
end

local function passes(filters, id)
  if not filters.any then return true end
  local found = redis.pcall('HMGET', key_schedule(id), 'labels', 'paused', 'failing_tick_ms')
  if found.err then return false end
  return (filters.label == '' or has_label(found[1] or '', filters.label))
    and (filters.paused == '' or (found[2] == '1') == (filters.paused == '1'))
    and (filters.failing == '' or (found[3] or '') ~= '' == (filters.failing == '1'))
end
