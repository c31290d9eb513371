#!lua
-- enqueue: jobs that somebody asks for, all of them or none.
--
-- KEYS     1 namespace root; touches the answer, quarantine, and of each job its record, unique key, queue and its sets
-- ARGV     1 idempotency key ('' = no answer is kept), 2 fingerprint of the request, then for each job its id, the fields
--          of its content in the order of CONTENT_FIELDS, headers, ms to wait, instant to run at, deadline, unique key,
--          and for how many ms it is held ('' = for the job's life); '' for what is not wanted
-- Returns  {'ok', answer} or, for a request that was carried out before, {'replayed', answer}; the answer is "word id,…" for
--          each job: 'accepted', 'replayed' (that job is there, with the same content) or 'duplicate' (that job holds the
--          unique key);
--          {'reused'}: the key came with another request; {'refused', why, which of them, counted from 1}; both did nothing
-- Fails    memory: at entry. Types are checked before the first write, so no later command can fail.
-- Repeat:  harmless: the second call gets the first answer, or finds the first one's jobs
-- include: content
-- include: new_jobs
-- include: idempotency

local answer_key = ARGV[1] ~= '' and key_idem_jobs(ARGV[1])
if answer_key then
  if not typed(answer_key, 'string') then return {'refused', 'broken', 1} end
  local word, earlier = earlier_answer(answer_key, ARGV[2])
  if word then return {word, earlier} end
end

local function job_at(at)
  local more = at + 1 + #CONTENT_FIELDS
  local content, wait, run_at = content_from(ARGV, at + 1), tonumber(ARGV[more + 1]), tonumber(ARGV[more + 2])
  content.headers = ARGV[more]
  return {id = ARGV[at], content = content, options = {
    run_at = wait and now + wait or run_at, deadline = tonumber(ARGV[more + 3]),
    unique_key = ARGV[more + 4] ~= '' and ARGV[more + 4] or nil, unique_ms = ARGV[more + 5],
  }}
end

local jobs = {}
for at = 3, #ARGV, 7 + #CONTENT_FIELDS do jobs[#jobs + 1] = job_at(at) end
local answer, why, which = enqueue_all(jobs, '')
if not answer then return {'refused', why, which} end
if answer_key then keep_answer(answer_key, ARGV[2], answer) end
publish_hints()
return {'ok', answer}
