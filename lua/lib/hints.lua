-- hints: what a call has changed, told on a channel in one message at its end: a JSON list of texts
-- "schedule <revision> <id>" and "job - <id>". The revision is '-' where there is none: of a job, and of a schedule that is
-- gone. Nobody's work depends on them.
local hints, hinted = {}, {}

local function hint(text)
  if hinted[text] then return end
  hinted[text] = true
  hints[#hints + 1] = text
end

local function hint_schedule(id, revision) hint('schedule ' .. (revision or '-') .. ' ' .. id) end
local function hint_job(id) hint('job - ' .. id) end

-- The last command of a call. Its work is done: access rules that forbid the channel must not make a failure of it.
local function publish_hints()
  if hints[1] then redis.pcall('PUBLISH', key_hints(), cjson.encode(hints)) end
end
