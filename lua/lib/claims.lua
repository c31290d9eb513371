-- claims: jobs that a call gives to a worker, within the bytes of an answer.
-- include: moves

local bytes, full, last_claim = 0, false, nil

-- What the worker is to know of a job; nil where the answer has no room for it. The first may be of any size.
local function row_of(job, fields, from)
  local row, size = {job.queue, job.id, ''}, 0
  for _, value in ipairs(redis.call('HMGET', key_job(job.id), unpack(fields, from))) do
    row[#row + 1] = value or ''
    size = size + #(value or '')
  end
  full = bytes > 0 and bytes + size > MAX_CALL_BYTES
  if full then return nil end
  bytes = bytes + size
  return row
end

-- Numbers that no claim of the namespace had before: a job's own counter would begin anew with an id that is used again.
-- Taken at once for all that may get one, before anything is said of a job: this may fail.
local function take_numbers(count)
  last_claim = last_claim or redis.call('HINCRBY', key_meta(), 'claims', count) - count
end

-- Gives a job to a worker for `life` ms. Returns its queue, id and claim number, and its values of `fields` from the position
-- `from` on; nil, and nothing done, where the answer is full or the job cannot be moved.
local function lease(job, worker, life, fields, from)
  local row = row_of(job, fields, from)
  if not row then return nil end
  last_claim = last_claim + 1
  row[3] = digits(last_claim)
  local done = move(job, 'running', now + life, 'worker', worker, 'started_at_ms', now_text, 'claim', row[3])
  return done and row or nil
end
