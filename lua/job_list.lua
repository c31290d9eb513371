#!lua flags=no-writes
-- job_list: a page of a queue's jobs in one state, by their place in its set; the final states from the last backwards.
--
-- KEYS     1 namespace root; reads the set and the jobs
-- ARGV     1 queue, 2 state, 3 'up' or 'down', 4 score and 5 id of the last job of the page before ('' twice = none), 6 limit,
--          7… fields to read
-- Returns  {score and id of the last one looked at ('' twice = the list is over), {field values …}, …}
-- Fails    nothing is written. An entry without a job is passed over.
-- Repeat:  harmless

local set, down, limit = key_state(ARGV[1], ARGV[2]), ARGV[3] == 'down', tonumber(ARGV[6])

-- Ids are ordered by their bytes, as the server orders them; Lua's own comparison goes by the server's locale.
local function id_before(a, b)
  for at = 1, math.min(#a, #b) do
    local x, y = string.byte(a, at), string.byte(b, at)
    if x ~= y then return x < y end
  end
  return #a < #b
end

local function is_before(a, b)
  if a[2] ~= b[2] then return a[2] < b[2] end
  return id_before(a[1], b[1])
end

-- The rank of the first entry past a place in the set, which need not be taken any more: found by halving.
local function rank_past(id, score)
  local low, high = 0, redis.call('ZCARD', set)
  while low < high do
    local middle = math.floor((low + high) / 2)
    local entry = redis.call(down and 'ZREVRANGE' or 'ZRANGE', set, middle, middle, 'WITHSCORES')
    local here, there = {entry[1], tonumber(entry[2])}, {id, score}
    local passed = down and not is_before(here, there) or not down and not is_before(there, here)
    if passed then low = middle + 1 else high = middle end
  end
  return low
end

local from = ARGV[5] == '' and 0 or rank_past(ARGV[5], tonumber(ARGV[4]))
local entries = redis.call(down and 'ZREVRANGE' or 'ZRANGE', set, from, from + limit - 1, 'WITHSCORES')
local page = {'', ''}
if #entries == 2 * limit then page[1], page[2] = entries[#entries], entries[#entries - 1] end
for at = 1, #entries, 2 do
  local values = redis.pcall('HMGET', key_job(entries[at]), unpack(ARGV, 7))
  if not values.err and values[1] then page[#page + 1] = values end
end
return page
