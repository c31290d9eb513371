#!lua
-- run_now: one extra job of a schedule, at once. The schedule itself is only read.
--
-- KEYS     1 namespace root; touches the answer, quarantine, the job, its queue and its sets, the list of manual runs
-- ARGV     1 schedule id, 2 idempotency key, 3 fingerprint of the request, 4 id for the new job, 5 who asks as JSON; where
--          hooks had a say, 6 payload, 7 fingerprint and 8 headers
-- Returns  {'ok' | 'replayed', "word id"}; {'missing'}; {'reused'}; {'refused', why, 1}: as enqueue.lua
-- Fails    memory: at entry. Types are checked before the first write, so no later command can fail.
-- Repeat:  harmless: the second call gets the first answer, marked as replayed
-- include: content
-- include: new_jobs
-- include: idempotency
-- include: rules
-- include: runs

local id, answer_key, runs = ARGV[1], key_idem_run(ARGV[1], ARGV[2]), key_manual(ARGV[1])
if not (typed(answer_key, 'string') and typed(runs, 'list')) then return {'refused', 'broken', 1} end
-- A repeat gets the kept answer even after the schedule was deleted.
local said, earlier = earlier_answer(answer_key, ARGV[3])
if said then return {said, earlier} end
local record = key_schedule(id)
if redis.call('EXISTS', record) == 0 then return {'missing'} end
local values = redis.call('HMGET', record, 'revision', unpack(CONTENT_FIELDS))
local content = content_from(values, 2)
if not (content and valid_priority(content)) then return {'refused', 'broken', 1} end
if ARGV[6] then content.payload, content.fingerprint, content.headers = ARGV[6], ARGV[7], ARGV[8] end
local rules = redis.call('HGET', record, 'rules') == '1' and read_rules(id)
if rules and not ARGV[6] then content.headers = rules.headers end
local options = rules and options_of(rules, now) or {}
local answer, why = enqueue_all({{id = ARGV[4], content = content, options = options}}, id)
if not answer then return {'refused', why, 1} end
keep_answer(answer_key, ARGV[3], answer)
local word, job_id = string.match(answer, '^(%S+) (%S+)$')
push_run(id, 'manual', job_id, word == 'duplicate' and 'deduplicated' or 'enqueued', ARGV[5])
hint_schedule(id, values[1])
publish_hints()
return {'ok', answer}
