-- Guarantee: jobs that match and are not running are gone, with their fields, keys and history; a
-- job held behind one of them is freed.
-- KEYS: those of keys.py.
-- ARGV: 3 filter, 4 where to go on, 5 how many, 6 author, 7 bound of ripples.
-- Result: {more, where to go on, {jobs gone}, {queues that gained}, {}}.
make_way()
local found, more, edge = candidates(tonumber(ARGV[5]), false, function(job)
  return job.s[STATE] ~= RUNNING
end)
for _, job in ipairs(found) do
  if job.s[FLOW] ~= '' then kin.forget(job) else remove(job) end
  forget_key(job)
end
for _, job in ipairs(found) do ended[#ended + 1] = job.id end
if #found > 0 then tell('purge', 'jobs', ARGV[6], tostring(#found)) end
kin.ripple(tonumber(ARGV[7]))
flush()
ring()
return {more and 1 or 0, edge, ids_of(found), gained, {}}
