#!lua flags=no-writes
-- queue_list: queues, with how many jobs they have in each state and what they are told to let through.
--
-- KEYS     1 namespace root; reads queues, their records, and counts their sets
-- ARGV     1 'after' and the last queue of the page before ('' = none), or 'only' and a name; 2 see there; 3 limit;
--          4 number of states and their names, then the fields to read
-- Returns  {last queue looked at ('' = the list is over), {name, counts …, field values …}, …}; a key of a foreign type
--          counts as nothing
-- Fails    nothing is written
-- Repeat:  harmless

local limit, states = tonumber(ARGV[3]), tonumber(ARGV[4])
local names, page
if ARGV[1] == 'only' then
  names, page = {ARGV[2]}, {''}
  if redis.call('EXISTS', key_queue(ARGV[2])) == 0 and not redis.call('ZSCORE', key_queues(), ARGV[2]) then return page end
else
  local from = ARGV[2] == '' and '-' or '(' .. ARGV[2]
  names = redis.call('ZRANGEBYLEX', key_queues(), from, '+', 'LIMIT', 0, limit)
  page = {#names == limit and names[limit] or ''}
end
for _, queue in ipairs(names) do
  local row, fields = {queue}, redis.pcall('HMGET', key_queue(queue), unpack(ARGV, 5 + states))
  for at = 5, 4 + states do
    local count = redis.pcall('ZCARD', key_state(queue, ARGV[at]))
    row[#row + 1] = type(count) == 'number' and count or 0
  end
  for at = 1, #ARGV - 4 - states do row[#row + 1] = not fields.err and fields[at] or '' end
  page[#page + 1] = row
end
return page
