-- Guarantee: of the groups looked at, each counts as many running jobs as run; one that counted another number
-- is looked at again by the next claim. A queue in which very many jobs run is left alone.
-- KEYS: those of keys.py.
-- ARGV: 3 'mend', or 'look' to write nothing; 4 the queue; 5 where to go on ('0' from the start).
-- Result: {where to go on ('0' at the end), how many groups counted another number}.
local AT_ONCE, MOST_RUNNING, NOT_A_GROUP = 250, 5000, '\30'
local queue, counts, wrong = ARGV[4], {}, 0
if redis.call('ZCARD', leases_of(queue)) > MOST_RUNNING then return {'0', 0} end
local seqs = redis.call('ZRANGE', leases_of(queue), 0, -1)
load_all(seqs)
for _, seq in ipairs(seqs) do
  local group = load(seq) and groups.of(load(seq)) or ''
  counts[group] = (counts[group] or 0) + 1
end
local told = redis.call('HSCAN', groups.key('groups', queue), ARGV[5], 'COUNT', AT_ONCE)
for i = 1, #told[2], 2 do
  local group, running = told[2][i], counts[told[2][i]] or 0
  if group ~= '' and group ~= NOT_A_GROUP and groups.crew(queue, group)[1] ~= running then
    wrong = wrong + 1
    groups.crew(queue, group)[1] = running
    groups.save(queue, group)
    groups.open(queue, group)
    gain(queue)
  end
end
if ARGV[3] == 'mend' and wrong > 0 then
  flush()
  ring()
end
return {told[1], wrong}
