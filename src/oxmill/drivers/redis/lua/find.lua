-- Guarantee: matching jobs, newest arrival first, each on one page only. Writes nothing.
-- KEYS: those of keys.py.
-- ARGV: 3 filter, 4 the number of arrival to go on below, 5 how many.
-- Result: {more, where to go on, {jobs as in read.lua}, {their numbers}}.
local found, more, edge = candidates(tonumber(ARGV[5]), true)
local told, seqs = {}, {}
for i, job in ipairs(found) do told[i], seqs[i] = tell_job(job, false), job.seq end
return {more and 1 or 0, edge, told, seqs}
