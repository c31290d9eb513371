-- new_job: queue a job that somebody asked for, and keep the answer. The caller has looked for an earlier answer.
-- include: typed
-- include: jobs
-- include: idempotency

-- Returns {'accepted', job id}; {'quarantined' | 'broken', ''} did nothing.
local function new_job(answer_key, request, job_id, content, manual_schedule_id)
  if redis.call('HEXISTS', key_quarantine(), content.fingerprint) == 1 then return {'quarantined', ''} end
  local queue = key_available(content.queue)
  if not typed(queue, 'zset') or redis.call('EXISTS', key_job(job_id)) == 1 then return {'broken', ''} end
  write_job(job_id, content, '', '', manual_schedule_id)
  redis.call('ZADD', queue, ready_score(content), job_id)
  redis.call('PUBLISH', key_ready(), content.queue)
  keep_answer(answer_key, request, job_id)
  return {'accepted', job_id}
end
