-- Guarantee: all jobs of the batch are stored, or none. Refused as a whole when the server is over
-- its memory limit, since its first write needs memory.
-- KEYS: those of keys.py.
-- ARGV: 3 'look' to judge only, 'write', or 'plain' or 'later' for jobs of one queue without terms of
-- their own that may start at once, or each after a delay. Then jobs as in intake.lua; if plain or
-- later: queue, and per job: priority or delay, its record up to the time of enqueue, and after it.
-- Result: an answer per job.
local function read_plain()
  local wanted = {}
  for at = 5, #ARGV, 3 do
    local job = parse('', ARGV[at + 1] .. struct.pack('>I8', now) .. ARGV[at + 2])
    local s = job.s
    local terms = {s[QUEUE], job.about, s[PRIORITY], s[DUE], -1, s[MAX_ATTEMPTS], s[CRASH_LIMIT], s[KEEP]}
    wanted[#wanted + 1] = {id = job.id, t = setmetatable(terms, TERMS), rest = job.rest}
  end
  return wanted
end

local plain = ARGV[3] == 'plain' or ARGV[3] == 'later'
local wanted, ids = plain and read_plain() or read_jobs(4), {}
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
