-- Guarantee: idle jobs among those that match end as cancelled at once; running ones are asked to
-- stop. The oldest first.
-- KEYS: those of keys.py.
-- ARGV: 3 filter, 4 where to go on, 5 how many, 6 reason, 7 author, 8 bound of ripples.
-- Result: {more, where to go on, {jobs ended}, {queues that gained}, {jobs asked}}.
make_way()
local found, more, edge = candidates(tonumber(ARGV[5]), false, function(job)
  return job.s[STATE] <= WAITING or (job.s[STATE] == RUNNING and job.s[CANCEL] == 0)
end)
local asked = {}
for _, job in ipairs(found) do
  local s = job.s
  if s[STATE] == RUNNING then
    s[CANCEL], s[REASON] = 1, ARGV[6]
    save(job)
    asked[#asked + 1] = job.id
    ended.ordered = true
  else
    finish(job, CANCELLED, ARGV[6])
  end
end
local cancelled = {unpack(ended)}
if #found > 0 then tell('cancel', 'jobs', ARGV[7], tostring(#found)) end
kin.ripple(tonumber(ARGV[8]))
flush()
ring()
return {more and 1 or 0, edge, cancelled, gained, asked}
