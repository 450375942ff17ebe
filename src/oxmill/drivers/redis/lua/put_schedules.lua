-- Guarantee: schedules are put, dropped, paused and resumed in one step; an unchanged one keeps its
-- next tick, a changed or resumed one starts anew.
-- KEYS: SCHEDULES, EVENTS.
-- ARGV: 3 author, then triples: put name schedule, drop name '', pause name '', resume name '', leave
-- name '' for one that lives in another shard from now on.
-- Result: how many changed. A schedule is kept as {paused, next tick, last tick (-1: none), last
-- job, error, schedule}.
local changed = 0

local function change(name, kept, kind)
  hput(SCHEDULES, name, kept and cmsgpack.pack(kept))
  tell(kind, name, ARGV[3], '')
  changed = changed + 1
end

for i = 4, #ARGV, 3 do
  local verb, name, schedule = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  local packed = hget(SCHEDULES, name)
  local kept = packed and cmsgpack.unpack(packed)
  if verb == 'put' then
    if not kept then
      change(name, {0, -1, -1, '', '', schedule}, 'schedule')
    elseif kept[6] ~= schedule then
      kept[2], kept[5], kept[6] = -1, '', schedule
      change(name, kept, 'schedule')
    end
  elseif kept and verb == 'drop' then
    change(name, false, 'schedule_drop')
  elseif verb == 'leave' then
    hput(SCHEDULES, name, false)
  elseif kept and verb == 'pause' and kept[1] == 0 then
    kept[1] = 1
    change(name, kept, 'schedule_pause')
  elseif kept and verb == 'resume' and kept[1] == 1 then
    kept[1], kept[2] = 0, -1
    change(name, kept, 'schedule_resume')
  end
end
flush()
return changed
