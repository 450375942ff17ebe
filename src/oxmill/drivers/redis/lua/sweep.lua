-- Guarantee: what a claim does for its queues is done for all in which a moment has come, `limit`
-- jobs of each kind; leases granted later than now (the clock was stepped back) are cut to their
-- full length from now; rules that have ended are dropped.
-- KEYS: those of keys.py.
-- ARGV: 3 limit.
-- Result: {lapsed, poisoned, due, expired, more, {queues that gained waiting jobs}, {jobs ended}}.
make_way()
local QUEUES_AT_ONCE, TOLERANCE = 100, 1000000
local limit = tonumber(ARGV[3])

local function rebase(queue)
  local key, left = leases_of(queue), false
  local seqs = redis.call('ZREVRANGEBYSCORE', key, '+inf', now + TOLERANCE, 'LIMIT', 0, 5000)
  load_all(seqs)
  for _, seq in ipairs(seqs) do
    local s = load(seq).s
    if s[LEASED] - s[LEASE] > now + TOLERANCE then
      s[LEASED] = now + s[LEASE]
      join(load(seq))
    end
  end
  redis.call('ZADD', GRANTS, now, queue)
end

local ahead = redis.call('ZRANGEBYSCORE', GRANTS, '(' .. string.format('%d', now + TOLERANCE), '+inf',
  'LIMIT', 0, QUEUES_AT_ONCE)
for _, queue in ipairs(ahead) do rebase(queue) end
if #ahead > 0 then flush() end

local ripe = redis.call('ZRANGEBYSCORE', MOMENTS, '-inf', now, 'LIMIT', 0, QUEUES_AT_ONCE)
local counts = ripen(ripe, limit)
local rules = redis.call('HGETALL', RULES)
for i = 1, #rules, 2 do
  local expires = cmsgpack.unpack(rules[i + 1])[1]
  if expires >= 0 and expires <= now then
    hput(RULES, rules[i], false)
    gain((string.gsub(rules[i], '^[^:]*:[^:]*:', '')))
  end
end
flush()
set_moments(ripe)
if #ripe == QUEUES_AT_ONCE or #ahead == QUEUES_AT_ONCE then counts[5] = 1 end
ring()
counts[6], counts[7] = gained, ended
return counts
