-- gate: what a queue lets through: nothing while it is paused, at most `max_concurrent` at once in all processes, and no
-- faster than its token bucket fills.
-- include: clock

local GATE_FIELDS = {
  'paused_at_ms', 'max_concurrent', 'rate_limit', 'rate_window_ms', 'rate_burst', 'tokens', 'tokens_at_ms',
}

-- A bucket holds at most `burst`, and fills by `limit` in each `window`. Returns what it holds, its pace, its size, and whether
-- nobody knows since when, as after a clock that went back: then it fills from now on.
local function tokens_of(values)
  local limit, window, burst = tonumber(values[3] or ''), tonumber(values[4] or ''), tonumber(values[5] or '')
  if not (limit and window and burst and limit > 0 and window > 0 and burst > 0) then return math.huge, 0, 0, false end
  local pace, at = limit / window, tonumber(values[7] or '')
  local known = at and at <= now
  local since = known and at or now
  local held = math.max(0, tonumber(values[6] or '') or burst)
  return math.min(burst, held + (now - since) * pace), pace, burst, values[6] and not known
end

-- The gate of a queue, or nil where its keys hold something else.
local function read_gate(queue)
  local values = redis.pcall('HMGET', key_queue(queue), unpack(GATE_FIELDS))
  local running = redis.pcall('ZCARD', key_state(queue, 'running'))
  if values.err or type(running) ~= 'number' then return nil end
  local gate = {queue = queue, values = values, paused = values[1] and values[1] ~= '', running = running}
  gate.tokens, gate.pace, gate.burst, gate.rewound = tokens_of(values)
  gate.free = math.max(0, (tonumber(values[2] or '') or math.huge) - running)
  gate.whole_tokens = math.floor(gate.tokens + TOKEN_DUST)
  return gate
end

local function spend_tokens(gate, count)
  if gate.pace == 0 or (count == 0 and not gate.rewound) then return end
  gate.tokens = math.min(gate.burst, math.max(0, gate.tokens - count))
  redis.call('HSET', key_queue(gate.queue), 'tokens', string.format('%.9f', gate.tokens), 'tokens_at_ms', now_text)
end

-- In how many ms the bucket will hold so many tokens more than it does.
local function refill_ms(gate, wanted) return math.max(1, math.ceil((wanted - gate.tokens) / gate.pace)) end

-- A job that nobody ran takes nothing from its queue's bucket.
local gates = {}
local function give_token_back(queue)
  gates[queue] = gates[queue] or read_gate(queue)
  if gates[queue] then spend_tokens(gates[queue], -1) end
end
