-- Guarantee: all jobs of the batch are stored, or none. Refused as a whole when the server is over
-- its memory limit, since its first write needs memory.
-- KEYS: those of keys.py.
-- ARGV: 3 'look' to judge only, or 'write': then jobs as in intake.lua. Or, for jobs of one queue that
-- the short way may take: 'plain', 'later', 'grouped' or 'keyed', then the queue, and per job: priority
-- (delay, if later), its record up to the time of enqueue, its record after it; if grouped also its group;
-- if keyed its unique key, for how long that is held (-1: while the job lives), what to do on conflict.
-- Result: an answer per job.
local function read_plain(size)
  local wanted = {}
  for at = 5, #ARGV, size do
    local on_conflict = size > 5 and tonumber(ARGV[at + 5]) or SKIP
    wanted[#wanted + 1] = read_record(ARGV[at + 1], ARGV[at + 2], on_conflict)
  end
  return wanted
end

local plain = PLAIN_SIZES[ARGV[3]]
local wanted, ids = plain and read_plain(plain) or read_jobs(4), {}
for i, new in ipairs(wanted) do ids[i] = new.id end
by_ids(ids)
local answers, refused = {}, false
for i, new in ipairs(wanted) do
  answers[i] = judge(new)
  if verdict_of(answers[i]) >= CONFLICT then refused = true end
end
if not refused and ARGV[3] ~= 'look' then
  flush()
  ring()
end
return answers
