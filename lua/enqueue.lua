#!lua
-- enqueue: a job that somebody asks for.
--
-- KEYS     1 namespace root; touches the answer, quarantine, the job and its queue's ready set
-- ARGV     1 idempotency key, 2 fingerprint of the request, 3 id for the new job, 4… content in the order of CONTENT_FIELDS
-- Returns  {'accepted' | 'replayed', job id}; {'reused' | 'quarantined' | 'broken', ''} did nothing
-- Fails    memory: at entry. Types are checked before the first write, so no later command can fail.
-- Repeat:  harmless: the second call gets the first answer, marked as replayed
-- include: content
-- include: new_job

local answer_key = key_idem_jobs(ARGV[1])
if not typed(answer_key, 'string') then return {'broken', ''} end
local word, earlier = earlier_answer(answer_key, ARGV[2])
if word then return {word, earlier or ''} end
return new_job(answer_key, ARGV[2], ARGV[3], content_from(ARGV, 4), '')
