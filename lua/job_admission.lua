#!lua flags=no-writes
-- job_admission: what stands between a job and its worker, by the same reading of the gate as `admit`.
--
-- KEYS     1 namespace root; reads the job, its queue, quarantine, and the processes that live
-- ARGV     1 id
-- Returns  {} (no such job), or {now, state, available_at_ms, deadline_ms or '', barred 0 or 1, paused_at_ms or '',
--          jobs that run, max_concurrent or '', tokens in the bucket or '', rate_limit, rate_window_ms and rate_burst or '',
--          jobs ahead in the queue or -1, live processes that work on the queue, those of them that know the kind}
-- Fails    nothing is written
-- Repeat:  harmless
-- include: moves
-- include: gate
-- include: processes

local job = read_job(ARGV[1])
if not job then return {} end
local kind = redis.call('HGET', key_job(job.id), 'kind') or ''

local function workers()
  local of_queue, of_kind = 0, 0
  for _, process in ipairs(live_workers()) do
    local about = redis.pcall('HMGET', key_process(process), 'queues', 'kinds')
    if not about.err and about[1] and string.find(about[1], '"' .. job.queue .. '"', 1, true) then
      of_queue = of_queue + 1
      if string.find(about[2] or '', '"' .. kind .. '"', 1, true) then of_kind = of_kind + 1 end
    end
  end
  return of_queue, of_kind
end

local gate = read_gate(job.queue)
if not gate then return redis.error_reply('foreign type in place of a queue') end
local barred = redis.call('HEXISTS', key_quarantine(), job.fingerprint)
local ahead = job.state == 'available' and redis.call('ZRANK', key_state(job.queue, 'available'), job.id) or -1
local of_queue, of_kind = workers()
local values = gate.values
return {
  now_text, job.state, digits(job.available_at), job.deadline and digits(job.deadline) or '', barred, values[1] or '',
  gate.running, values[2] or '', gate.pace > 0 and string.format('%.9f', gate.tokens) or '', values[3] or '', values[4] or '',
  values[5] or '', ahead, of_queue, of_kind,
}
