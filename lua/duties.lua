#!lua flags=no-writes
-- duties: who holds each duty, and whether anything is late. Reads alone: a full store answers too.
--
-- KEYS     1 namespace root; reads duty, epoch, due, failing, schedules, paused
-- ARGV     1… names of duties
-- Returns  {now, earliest entry of the due index ('' = none), schedules, paused, failing, {token or '', epoch, lease left in ms}, …}
-- Fails    nothing is written
-- Repeat:  harmless
-- include: clock
-- include: earliest

local answer = {
  now_text, earliest_due('-inf'), redis.call('ZCARD', key_schedules()),
  redis.call('ZCARD', key_paused()), redis.call('ZCARD', key_failing()),
}
for _, name in ipairs(ARGV) do
  answer[#answer + 1] = {
    redis.call('GET', key_duty(name)) or '', redis.call('GET', key_epoch(name)) or '0', redis.call('PTTL', key_duty(name)),
  }
end
return answer
