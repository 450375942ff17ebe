-- Guarantee: those of the named jobs that a claim could grant now, in the order named.
-- KEYS: those of keys.py.
-- ARGV: 3 lease, 4 worker, 5 nonce, 6 bound of each clean-up, 7… ids.
-- Result: {now, job…}; a job as in claim.lua.
make_way()
local ids = {unpack(ARGV, 7)}
local queues, seen = {}, {}
for _, job in ipairs(by_ids(ids)) do
  if job and not seen[job.s[QUEUE]] then
    seen[job.s[QUEUE]] = true
    queues[#queues + 1] = job.s[QUEUE]
  end
end
tidy(queues, tonumber(ARGV[6]))
local closed, chosen = closed_of(queues), {}
for _, id in ipairs(ids) do
  local job = by_id(id)
  if job and job.s[STATE] == WAITING and not closed[job.s[QUEUE]] and not too_late(job) then
    chosen[#chosen + 1] = job
  end
end
local leased = grant(chosen)
flush()
gained = {}
ring()
return {now, unpack(leased)}
