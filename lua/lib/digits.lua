-- digits: a whole number as decimal text. tostring() turns to exponents at fifteen digits, and an instant can have as many.
local function digits(number) return string.format('%.0f', number) end
