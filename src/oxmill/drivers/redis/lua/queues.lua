-- Guarantee: counts, totals, rules and settings of these queues as of one moment. Writes nothing.
-- KEYS: TALLIES, RULES, SETTINGS and the sets of the queues.
-- ARGV: 3… queues.
-- Result: {now, then per queue {counts of the 7 states, totals of the 3 ends, when the job at the
-- head of the line was enqueued or 0, settings or '', rules on record, rule in force…}}.
local told = {now}
for i = 3, #ARGV do
  local queue = ARGV[i]
  local fields = {}
  for _, state in ipairs({HELD, SUCCEEDED, FAILED, CANCELLED}) do
    fields[#fields + 1] = 'now:' .. state .. ':' .. queue
  end
  for state = SUCCEEDED, CANCELLED do fields[#fields + 1] = 'ever:' .. state .. ':' .. queue end
  local t = hmget(TALLIES, fields)
  for place = 1, #fields do t[place] = tonumber(t[place] or 0) end
  local first = redis.call('ZRANGE', line_of(queue), 0, 0)[1]
  local job = first and load(seq_of(first))
  local row = {
    t[1], redis.call('ZCARD', due_of(queue)), redis.call('ZCARD', line_of(queue)),
    redis.call('ZCARD', leases_of(queue)), t[2], t[3], t[4], t[5], t[6], t[7],
    job and job.s[ENQUEUED] or 0, redis.call('HGET', SETTINGS, queue) or '', 0,
  }
  for _, kind in ipairs({'block', 'pause', 'throttle'}) do
    local packed = redis.call('HGET', RULES, kind .. ':queue:' .. queue)
    local expires = packed and cmsgpack.unpack(packed)[1]
    if packed then row[13] = row[13] + 1 end
    if packed and (expires < 0 or expires > now) then row[#row + 1] = packed end
  end
  told[#told + 1] = row
end
return told
