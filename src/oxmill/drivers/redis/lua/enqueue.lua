-- Guarantee: all jobs of the batch are stored, or none. Refused as a whole when the server is over
-- its memory limit, since its first write needs memory.
-- KEYS: those of keys.py.
-- ARGV: 3 0 to look only, 4… jobs as in intake.lua.
-- Result: an answer per job.
local wanted, ids = read_jobs(4), {}
for i, new in ipairs(wanted) do ids[i] = new.id end
by_ids(ids)
local answers, refused = {}, false
for i, new in ipairs(wanted) do
  answers[i] = judge(new)
  if verdict_of(answers[i]) >= CONFLICT then refused = true end
end
if not refused and ARGV[3] == '1' then
  flush()
  ring()
end
return answers
