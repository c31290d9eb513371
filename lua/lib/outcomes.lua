-- outcomes: the string of one letter for each of the newest ticks, newest last.
local function with_outcome(letters, outcome)
  return string.sub(letters .. string.sub(outcome, 1, 1), -MAX_OUTCOMES)
end
