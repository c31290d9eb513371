#!lua flags=no-writes
-- duties: who holds each duty, when the last sweep was, and what is late. Reads alone: a full store answers too.
--
-- KEYS     1 namespace root; reads duty, epoch, meta, processes, due, resumes, failing, schedules, paused
-- ARGV     1 how far past its time a schedule is overdue, in ms, 2… names of duties
-- Returns  {{now, earliest entry of the due index ('' = none), last sweep ('' = none yet), schedules, paused, failing, live
--          processes, overdue, oldest overdue id ('' = none), when it was due}, {token or '', epoch, lease left in ms}, …}
-- Fails    nothing is written
-- Repeat:  harmless
-- include: clock
-- include: earliest

local COMPARED = 1000
local bound = now - tonumber(ARGV[1])
local late = '(' .. digits(bound)
local oldest, oldest_at = '', math.huge

-- How many of an index were due before the bound; the oldest of them is kept in mind.
local function count_late(key)
  local first = redis.call('ZRANGEBYSCORE', key, '-inf', late, 'WITHSCORES', 'LIMIT', 0, 1)
  if first[1] and tonumber(first[2]) < oldest_at then oldest, oldest_at = first[1], tonumber(first[2]) end
  return redis.call('ZCOUNT', key, '-inf', late)
end

-- A schedule that fails waits in the due index for another attempt: once that is late too, it must not count twice. Only of
-- the oldest 1,000 that fail is it looked up.
local function counted_twice()
  local ids = redis.call('ZRANGEBYSCORE', key_failing(), '-inf', late, 'LIMIT', 0, COMPARED)
  if #ids == 0 then return 0 end
  local twice = 0
  for _, score in ipairs(redis.call('ZMSCORE', key_due(), unpack(ids))) do
    if score and tonumber(score) < bound then twice = twice + 1 end
  end
  return twice
end

local overdue = count_late(key_due()) + count_late(key_resumes()) + count_late(key_failing()) - counted_twice()
local answer = {{
  now_text, earliest_due('-inf'), string.match(redis.call('HGET', key_meta(), 'swept_at_ms') or '', '^%d+$') or '',
  redis.call('ZCARD', key_schedules()), redis.call('ZCARD', key_paused()), redis.call('ZCARD', key_failing()),
  redis.call('ZCOUNT', key_processes(), now_text, '+inf'), overdue, oldest, oldest ~= '' and digits(math.max(0, oldest_at)) or '',
}}
for at = 2, #ARGV do
  local name = ARGV[at]
  answer[#answer + 1] = {
    redis.call('GET', key_duty(name)) or '', redis.call('GET', key_epoch(name)) or '0', redis.call('PTTL', key_duty(name)),
  }
end
return answer
