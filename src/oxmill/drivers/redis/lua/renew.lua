-- Guarantee: leases whose token is still the newest last until now + lease; others stay as they are.
-- KEYS: those of keys.py.
-- ARGV: 3 lease, then per item: id, attempt, nonce, 1 or 0 for progress, progress.
-- Result: {now, per item 0 lost, 1 kept, 2 kept and asked to stop}.
make_way()
local lease, answers = tonumber(ARGV[3]), {now}
local ids = {}
for i = 4, #ARGV, 5 do ids[#ids + 1] = ARGV[i] end
by_ids(ids)
for i = 4, #ARGV, 5 do
  local job = by_id(ARGV[i])
  if job and held_by(job, tonumber(ARGV[i + 1]), ARGV[i + 2]) then
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
