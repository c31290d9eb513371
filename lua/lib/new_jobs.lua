-- new_jobs: jobs that somebody asks for. All are judged before the first is written, so that a batch is all or nothing.
-- include: entry

local promised = {}  -- unique keys that jobs of this call will hold

-- The job that has an id already: 'replayed' if it has the same content, else 'id_conflict'; nil if there is none.
local function same_id(job)
  local content = redis.call('HMGET', key_job(job.id), 'fingerprint', 'queue')
  if not content[1] then return nil end
  return content[1] == job.content.fingerprint and content[2] == job.content.queue and 'replayed' or 'id_conflict'
end

-- What is to become of a job: 'accepted'; 'replayed' or 'duplicate' and the job that is there already; or why it cannot
-- enter: 'id_conflict', 'late' (its deadline comes first), 'quarantined', 'backpressure', 'broken' (a foreign type).
local function judge(job)
  local known = same_id(job)
  if known then return known, job.id end
  local deadline = job.options.deadline
  if deadline and deadline <= math.max(now, job.options.run_at or now) then return 'late' end
  if barred(job.content.fingerprint) then return 'quarantined' end
  local entrance = entrance_of(job.content.queue)
  if not entrance.usable then return 'broken' end
  local unique_key = job.options.unique_key
  if unique_key then
    local holder = promised[unique_key] or unique_holder(unique_key)
    if holder then return 'duplicate', holder end
    promised[unique_key] = job.id
  end
  if entrance.room < 1 then return 'backpressure' end
  entrance.room = entrance.room - 1
  return 'accepted', job.id
end

-- `jobs` have id, content, options. Returns the words and ids, 'word id' each; or nil, why, and which of them it is.
local function enqueue_all(jobs, manual_schedule_id)
  local words = {}
  for place, job in ipairs(jobs) do
    local ran, word, id = pcall(judge, job)
    if not ran or not id then return nil, ran and word or 'broken', place end
    if word == 'id_conflict' then return nil, word, place end
    words[place] = word .. ' ' .. id
    job.accepted = word == 'accepted'
  end
  for _, job in ipairs(jobs) do
    if job.accepted then enter_queue(job.id, job.content, job.options, '', '', manual_schedule_id) end
  end
  write_entries()
  return table.concat(words, ',')
end
