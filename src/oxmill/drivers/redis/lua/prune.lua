-- Guarantee: ended jobs past their retention go, oldest first, with all that belongs to them, then flows
-- past theirs, then stages that nobody published; so do unique keys that nothing holds any more, events
-- older than 30 days, and meters that are full.
-- KEYS: ENDED, HOLDS, UNIQUES, EVENTS, METERS, RETIRED, ABANDONED and those of a job.
-- ARGV: 3 limit, 4 bound of ripples.
-- Result: {jobs gone, 1 if there are more}.
make_way()
local EVENT_AGE, FULL_FOR = 30 * 86400000000, 60000000
local limit = tonumber(ARGV[3])
local seqs = redis.call('ZRANGEBYSCORE', ENDED, '-inf', now, 'LIMIT', 0, limit + 1)
local more, gone = #seqs > limit, math.min(#seqs, limit)
load_all(seqs)
for i = 1, math.min(#seqs, limit) do
  local job = load(seqs[i])
  if job then remove(job) else zput(ENDED, seqs[i], false) end
end
if redis.call('ZCOUNT', RETIRED, '-inf', now) + redis.call('ZCOUNT', ABANDONED, '-inf', now) > 0 then
  local retired, more_retired = kin.retire(limit - gone)
  gone, more = gone + retired, more or more_retired
  kin.ripple(tonumber(ARGV[4]))
end
for _, key in ipairs(redis.call('ZRANGEBYSCORE', HOLDS, '-inf', now, 'LIMIT', 0, limit)) do
  local claimant = claimant_of(key)
  if claimant and not taken(claimant) then put_claimant(key, false) end
  zput(HOLDS, key, false)
end
for _, meter in ipairs(redis.call('ZRANGEBYSCORE', METERS, '-inf', now - FULL_FOR, 'LIMIT', 0, limit)) do
  zput(METERS, meter, false)
end
flush()
ring()
local cut
for _, entry in ipairs(redis.call('XRANGE', EVENTS, '-', '+', 'COUNT', math.max(limit, 1))) do
  if tonumber(entry[2][2]) > now - EVENT_AGE then break end
  cut = tonumber(string.match(entry[1], '%d+')) + 1
end
if cut then redis.call('XTRIM', EVENTS, 'MINID', string.format('%d', cut)) end
return {gone, more and 1 or 0}
