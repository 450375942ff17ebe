-- Guarantee: leases whose token is still the newest last until now + lease; others stay as they are.
-- One that lapsed comes back only if the concurrency of its queue and group has room.
-- KEYS: those of keys.py.
-- ARGV: 3 lease, then per item: id, attempt, nonce, 1 or 0 for progress, progress.
-- Result: {now, per item 0 lost, 1 kept, 2 kept and asked to stop}.
make_way()
local lease, answers = tonumber(ARGV[3]), {now}
local ids = {}
for i = 4, #ARGV, 5 do ids[#ids + 1] = ARGV[i] end
by_ids(ids)

local back = {}
local function has_room(job)
  local queue, group = job.s[QUEUE], groups.of(job)
  if job.s[STATE] == RUNNING then return true end
  local settings = groups.settings(queue)
  local most, group_most = settings[5] or -1, settings[11] == 1 and 1 or settings[8] or -1
  if most >= 0 and redis.call('ZCARD', leases_of(queue)) + (back[queue] or 0) >= most then return false end
  return group == '' or group_most < 0 or groups.crew(queue, group)[1] < group_most
end

for i = 4, #ARGV, 5 do
  local job = by_id(ARGV[i])
  local lapsed = job and job.s[STATE] ~= RUNNING
  if job and has_room(job) and held_by(job, tonumber(ARGV[i + 1]), ARGV[i + 2]) then
    if lapsed then back[job.s[QUEUE]] = (back[job.s[QUEUE]] or 0) + 1 end
    job.s[LEASE], job.s[LEASED] = lease, now + lease
    if ARGV[i + 3] == '1' then set_aside(job, 'g', ARGV[i + 4]) end
    prolong(job)
    answers[#answers + 1] = job.s[CANCEL] == 1 and 2 or 1
  else
    answers[#answers + 1] = 0
  end
end
flush()
gained = {}
return answers
