-- Guarantee: at most `limit` jobs of the open queues named, best rank first over all of them, each
-- to this holder only; lapsed, due and expired jobs of the queues named are seen to first.
-- KEYS: those of keys.py.
-- ARGV: 3 lease, 4 worker, 5 nonce, 6 limit, 7 bound of each clean-up, 8… queues.
-- Result: {now, next moment or 0, job…}; a job is its record, or {record, payload, progress} where
-- these stand aside; of a flow {record, payload, progress, joined, fields read…}.
make_way()
local queues = {unpack(ARGV, 8)}
local limit = tonumber(ARGV[6])
tidy(queues, tonumber(ARGV[7]))
local closed, open = closed_of(queues), {}
for _, queue in ipairs(queues) do
  if not closed[queue] then open[#open + 1] = queue end
end
local chosen = first_of(keys_for(line_of, open), limit, nil, function(job) return not too_late(job) end)
local leased = grant(chosen)
flush()
local next_due
if #chosen < limit then
  for _, queue in ipairs(open) do
    for _, make in ipairs({due_of, leases_of}) do
      local first = head(make(queue))
      if first and (not next_due or first < next_due) then next_due = first end
    end
  end
end
-- What this claim left in line is news to others; what it took is not.
if #chosen < limit then gained = {} end
ring()
return {now, next_due or 0, unpack(leased)}
