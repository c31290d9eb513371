-- content: what a job is made of, read from a schedule's record; nil when a field is missing.
local CONTENT_FIELDS = {
  'kind', 'queue', 'priority', 'max_attempts', 'timeout_ms', 'retention_ms', 'fingerprint', 'payload', 'zone',
}

-- `values` holds those fields in that order, from position `at` on.
local function content_from(values, at)
  local content = {}
  for index, field in ipairs(CONTENT_FIELDS) do
    local value = values[at + index - 1]
    if not value then return nil end
    content[field] = value
  end
  return content
end
