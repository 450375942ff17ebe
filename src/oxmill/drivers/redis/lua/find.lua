-- Guarantee: matching jobs, newest arrival first, each on one page only. Writes nothing.
-- KEYS: those of keys.py.
-- ARGV: 3 filter, 4 the number of arrival to go on below, 5 how many.
-- Result: {more, where to go on, {jobs as in read.lua}, the last one's number}.
local found, more, edge = candidates(tonumber(ARGV[5]), true)
local told = {}
for i, job in ipairs(found) do told[i] = tell_job(job, false) end
return {more and 1 or 0, edge, told, #found > 0 and found[#found].seq or ''}
