#!lua
-- run_now: one extra job of a schedule, at once. The schedule itself is only read.
--
-- KEYS     1 namespace root; touches the answer, quarantine, the job, its queue's ready set, the list of manual runs
-- ARGV     1 schedule id, 2 idempotency key, 3 fingerprint of the request, 4 id for the new job; where hooks had a say,
--          5 payload, 6 fingerprint and 7 headers
-- Returns  {'accepted' | 'replayed', job id}; {'missing' | 'reused' | 'quarantined' | 'broken', ''} did nothing
-- Fails    memory: at entry. Types are checked before the first write, so no later command can fail.
-- Repeat:  harmless: the second call gets the first answer, marked as replayed
-- include: content
-- include: new_job

local id, answer_key, runs = ARGV[1], key_idem_run(ARGV[1], ARGV[2]), key_manual(ARGV[1])
if not (typed(answer_key, 'string') and typed(runs, 'list')) then return {'broken', ''} end
-- A repeat gets the kept answer even after the schedule was deleted.
local word, earlier = earlier_answer(answer_key, ARGV[3])
if word then return {word, earlier or ''} end
local record = key_schedule(id)
if redis.call('EXISTS', record) == 0 then return {'missing', ''} end
local content = content_from(redis.call('HMGET', record, unpack(CONTENT_FIELDS)), 1)
if not content then return {'broken', ''} end
if ARGV[5] then content.payload, content.fingerprint, content.headers = ARGV[5], ARGV[6], ARGV[7] end
local answer = new_job(answer_key, ARGV[3], ARGV[4], content, id)
if answer[1] == 'accepted' then
  redis.call('LPUSH', runs, '{"schedule_id":"' .. id .. '","trigger":"manual","job_id":"' .. answer[2]
    .. '","recorded_at_ms":' .. now_text .. '}')
  redis.call('LTRIM', runs, 0, MAX_MANUAL - 1)
end
return answer
