#!lua flags=no-writes
-- quarantine_list: a page of barred fingerprints.
--
-- KEYS     1 namespace root; reads quarantine and its index, and counts the jobs set aside
-- ARGV     1 last fingerprint of the page before ('' = none), 2 limit
-- Returns  {last fingerprint looked at ('' = the list is over), {fingerprint, entry, jobs set aside}, …}
-- Fails    nothing is written
-- Repeat:  harmless

local after, limit = ARGV[1], tonumber(ARGV[2])
local found = redis.call('ZRANGEBYLEX', key_barred(), after == '' and '-' or '(' .. after, '+', 'LIMIT', 0, limit)
local page = {#found == limit and found[limit] or ''}
for _, fingerprint in ipairs(found) do
  local entry = redis.call('HGET', key_quarantine(), fingerprint)
  local count = redis.pcall('ZCARD', key_quarantined(fingerprint))
  if entry then page[#page + 1] = {fingerprint, entry, type(count) == 'number' and count or 0} end
end
return page
