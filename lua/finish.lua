#!lua flags=allow-oom
-- finish: what became of attempts.
--
-- KEYS     1 namespace root; touches the jobs, their unique keys, and their queues' records, sets and deadlines
-- ARGV     for each attempt six: queue, job id, claim number; 'completed', 'failed', 'undecodable', 'cancelled' or
--          'returned' (to be run by others, without an attempt counted); name of the error or ''; wait before it may run
--          again, in ms (0 = none)
-- Returns  of each the job's state now; 'lost': the claim is not this worker's any more, nothing was done; or 'broken': the
--          set it belongs in is of a foreign type, nothing was done
-- Fails    types are checked before the first write; a number that the record has lost is taken as the smallest
-- Repeat:  harmless: the second answer tells the state again, or 'lost' of a job that others may run by now
-- include: ending
-- include: gate

local TOLD = {retryable = true, completed = true, archived = true, cancelled = true, undecodable = true}
local left = {}  -- queues that a job left, or came back to

local function retry(job, wait, ...)
  local run_at = now + wait
  if past_deadline(job, run_at) then return finish_as(job, 'archived', ...) end
  return move(job, 'retryable', run_at, 'available_at_ms', digits(run_at), ...)
end

local function hand_back(job, wait, ...)
  local done
  if wait > 0 or past_deadline(job, now) then done = retry(job, wait, ...) else done = make_available(job, ...) end
  if done then
    redis.pcall('HINCRBY', key_job(job.id), 'returns', 1)
    give_token_back(job.queue)
  end
  return done
end

local function decide(job, verdict, error_name, wait)
  if job.cancelled and verdict ~= 'completed' then return finish_as(job, 'cancelled', 'last_error', error_name) end
  if verdict == 'returned' then return hand_back(job, wait, 'last_error', error_name) end
  if verdict ~= 'failed' then return finish_as(job, verdict, 'last_error', error_name) end
  local attempt = digits(job.attempt + 1)
  if job.attempt + 1 >= job.max_attempts then
    return finish_as(job, 'archived', 'last_error', error_name, 'attempt', attempt)
  end
  return retry(job, wait, 'last_error', error_name, 'attempt', attempt)
end

local function finish(at)
  local job = read_job(ARGV[at + 1])
  if not job or job.queue ~= ARGV[at] or job.claim ~= ARGV[at + 2] then return 'lost' end
  -- Its lease ended, and nobody began it since: work that was done counts, however late it is told.
  local late = (job.state == 'available' or job.state == 'quarantined') and ARGV[at + 3] == 'completed'
  if job.state ~= 'running' and not late then return TOLD[job.state] and job.state or 'lost' end
  local done = decide(job, ARGV[at + 3], ARGV[at + 4], tonumber(ARGV[at + 5]))
  left[job.queue] = left[job.queue] or job.state
  if job.state == 'available' then left[job.queue] = 'available' end
  return done and job.state or 'broken'
end

local states = {}
for at = 1, #ARGV, 6 do states[#states + 1] = finish(at) end
write_moves()
-- Others are waiting for a job that came back, and where so many may run at once, for one to end.
for queue, state in pairs(left) do
  if state == 'available' or type(redis.pcall('HGET', key_queue(queue), 'max_concurrent')) == 'string' then
    redis.call('PUBLISH', key_ready(), queue)
  end
end
publish_hints()
return states
