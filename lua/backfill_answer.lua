#!lua
-- backfill_answer: what is kept of a range backfill under its idempotency key: looked at, or made whole.
--
-- KEYS     1 namespace root; touches the answer
-- ARGV     1 schedule id, 2 idempotency key, 3 fingerprint of the request; to make it whole 4 what is kept of it so far
--          ('' = nothing), 5 the whole answer
-- Returns  {'reused'}: the key came with another request; {'found', what is kept, or ''}: so too where that is not as
--          expected; these did nothing. {'kept'}: the answer is whole
-- Fails    memory: at entry. A foreign type in place of the answer: before the first write
-- Repeat:  harmless: a second call finds the whole answer
-- include: idempotency

local key = key_idem_backfill(ARGV[1], ARGV[2])
local said, kept = earlier_answer(key, ARGV[3])
if said == 'reused' then return {'reused'} end
if not ARGV[5] or not stands_kept(key, ARGV[3], ARGV[4]) then return {'found', kept or ''} end
keep_answer(key, ARGV[3], ARGV[5])
return {'kept'}
