-- Guarantee: at most `limit` jobs of the open queues named, each to this holder only: best rank first
-- over all of them, and where there are groups or gates as decision 0060 says; lapsed, due and expired
-- jobs of the queues named are seen to first.
-- KEYS: those of keys.py.
-- ARGV: 3 lease, 4 worker, 5 nonce, 6 limit, 7 bound of each clean-up, 8 of the queues so many, the first
-- ones, are seen to already, 9… queues.
-- Result: {now, next moment or 0 (-1: there is more to give, ask again; -1 - n: nothing is given yet, n queues are
-- seen to, ask again and say so), job…}; a job is its record, which
-- may be that before its first lease, or {record, payload, progress} where these stand aside; of a flow {record,
-- payload, progress, joined, fields read…} or, if nothing stands aside, the number of fields read, its record
-- and the fields, not in a list of their own, which takes the server longer than all they hold.
make_way()
local limit, bound = tonumber(ARGV[6]), tonumber(ARGV[7])
-- So that no script is long, this way gives fewer at once, and fewer still if there was anything to see to; who
-- wants more asks again.
local queues = {unpack(ARGV, 9)}
local seen, tidied = tidy(queues, bound, tonumber(ARGV[8]))
if seen < #queues then
  gained = kin.gained()
  ring()
  return {now, -1 - seen}
end
local most = math.min(limit, math.max(tidied and bound or 2 * bound, 1))
local open, gated = open_of(queues)
local sources, claim, chosen = {}, {aside = bound, cut = false, scoped = gates.scoped()}, nil
if gated then
  for i, queue in ipairs(open) do sources[i] = turns.source(queue, most, bound, claim) end
  chosen = turns.choose(sources, most, claim)
else
  chosen = first_of(keys_for(line_of, open), most, nil, function(job) return not too_late(job) end)
end
local leased = grant(chosen)
for _, source in ipairs(sources) do turns.finish(source) end
flush()
local next_due
if #chosen < limit then
  local function sooner(moment)
    if moment and (not next_due or moment < next_due) then next_due = moment end
  end
  for _, queue in ipairs(open) do
    sooner(head(due_of(queue)))
    sooner(head(leases_of(queue)))
  end
  for _, source in ipairs(sources) do sooner(turns.moment(source)) end
end
if #chosen == most and most < limit then next_due = -1 end
if #chosen < limit and groups.buried > 0 then next_due = -1 end
for _, source in ipairs(sources) do turns.release(source) end
-- What this claim left in line is news to others, and so is what expired jobs let go; what it took is not.
if #chosen < limit then gained = kin.gained() end
ring()
return {now, next_due or 0, unpack(leased)}
