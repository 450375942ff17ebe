-- Guarantee: one winner per tick: the jobs are enqueued and the next tick is set in one step, if the
-- schedule is there, not paused, and the expected tick is still its next. A refused job does not
-- stop the tick from being won.
-- KEYS: those of keys.py.
-- ARGV: 3 name, 4 expected tick, 5 next tick, 6 newest tick of these jobs (-1: none, each), 7 error,
-- 8… jobs as in intake.lua.
-- Result: {0}, or {1, an answer per job}.
local packed = redis.call('HGET', SCHEDULES, ARGV[3])
local kept = packed and cmsgpack.unpack(packed)
if not kept or kept[1] == 1 or kept[2] ~= tonumber(ARGV[4]) then return {0} end
local answers, last = {1}, nil
for _, new in ipairs(read_jobs(8)) do
  local given = judge(new)
  answers[#answers + 1] = given
  last = type(given) == 'table' and given[2] or new.id
end
kept[2] = tonumber(ARGV[5])
if tonumber(ARGV[6]) >= 0 then kept[3] = tonumber(ARGV[6]) end
if last then kept[4] = text_of(last) end
kept[5] = ARGV[7]
hput(SCHEDULES, ARGV[3], cmsgpack.pack(kept))
flush()
ring()
return answers
