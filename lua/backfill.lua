#!lua
-- backfill: ticks of one gap become jobs, oldest first, and the gap shrinks as they do.
--
-- KEYS     1 namespace root; touches the answer, quarantine, the schedule's record, gaps, manual runs, and of each tick its
--          marker and job, and its queue's record and sets; checks the types of all that says where the schedule stands
-- ARGV     1 id, 2 the gap as stored, or '' for ticks of which no gap is known any more; 3 "from,until" of what stays of it
--          before these ticks, or ''; 4 its last tick, 5 its reason, 6 its spec; 7 who asks, as JSON; 8 life of a marker in ms;
--          9 idempotency key ('' = none), 10 fingerprint of the request, 11 how the progress under the key begins, 12 the
--          ticks of this request that are in no gap any more, comma-separated; the last three '' without a key; then for
--          each tick its instant, the next one of the gap's spec ('' = none), and 'go', payload, fingerprint and headers
--          where hooks had a say, else '' four times
-- Returns  {'missing'}; {'moved'}: the gap is not as read; {'broken'}: a key has a foreign type; {'overtaken'}: what is kept
--          under the key is not what the caller has done so far; these did nothing.
--          {'ok', outcome/reason of each tick up to the first that made no job, which stays in the gap}; under the key
--          stand those that left it too, with the ones before them
-- Fails    memory: at entry. A foreign type in place of the answer: before the first write. A tick whose command fails ends
--          the call as failed/store_error, and the gap says what is left.
-- Repeat:  not harmless (no tick becomes two jobs, but the second answer does not tell what became of them)
-- include: standing
-- include: content
-- include: gaps
-- include: idempotency
-- include: runs
-- include: enqueue_tick

local id, gap, last = ARGV[1], ARGV[2], ARGV[4]
local answer_key = ARGV[9] ~= '' and key_idem_backfill(id, ARGV[9])
if not standing_usable(id) then return {'broken'} end
if answer_key and not stands_kept(answer_key, ARGV[10], ARGV[12] ~= '' and ARGV[11] .. ARGV[12] or '') then
  return {'overtaken'}
end
local record = key_schedule(id)
local values = redis.call('HMGET', record, 'rules', unpack(CONTENT_FIELDS))
if not values[2] then return {'missing'} end
if gap ~= '' and not redis.call('ZSCORE', key_gaps(id), gap) then return {'moved'} end

local schedule = {
  id = id, content = content_from(values, 2), marker_ms = ARGV[8], decisions = {},
  rules = values[1] == '1' and read_rules(id) or nil,
}
if schedule.rules then
  -- These ticks are late, and several at once, because somebody wants them.
  schedule.rules.max_lateness, schedule.rules.overlap, schedule.rules.jitter, schedule.rules.deadline = nil, false, nil, nil
  if schedule.content then schedule.content.headers = schedule.rules.headers end
end

local results, left, run, done = {'ok'}, nil, nil, {}
if ARGV[12] ~= '' then done[1] = ARGV[12] end

-- Whether the tick is in no gap any more: it became a job, now or before.
local function made_up(tick, outcome, reason, job_id)
  if outcome ~= 'enqueued' then return reason == 'id_conflict' end
  if reason == 'accepted' then
    run = run or {first = tick, job_id = job_id, count = 0}
    run.last, run.count = tick, run.count + 1
  end
  return true
end

for at = 13, #ARGV, 6 do
  local tick = ARGV[at]
  if ARGV[at + 2] ~= '' then
    schedule.decisions[tick] = {
      word = ARGV[at + 2], payload = ARGV[at + 3], fingerprint = ARGV[at + 4], headers = ARGV[at + 5],
    }
  end
  local outcome, reason, job_id = enqueue_tick(schedule, tick)
  results[#results + 1] = outcome .. '/' .. reason
  left = tick
  if not made_up(tick, outcome, reason, job_id) then break end
  left, done[#done + 1] = ARGV[at + 1], tick
end
if answer_key and done[1] then keep_answer(answer_key, ARGV[10], ARGV[11] .. table.concat(done, ',')) end
if run then push_run(id, 'backfill', run.job_id, 'enqueued', ARGV[7], run) end
write_entries()
if gap ~= '' then
  redis.call('ZREM', key_gaps(id), gap)
  local from, upto = string.match(ARGV[3], '^(%d+),(%d+)$')
  if from then redis.call('ZADD', key_gaps(id), upto, gap_text(from, upto, ARGV[5], ARGV[6])) end
  if left and left ~= '' and tonumber(left) <= tonumber(last) then
    redis.call('ZADD', key_gaps(id), last, gap_text(left, last, ARGV[5], ARGV[6]))
  end
  trim_gaps(id)
end
hint_schedule(id, redis.call('HGET', record, 'revision'))
publish_hints()
return results
