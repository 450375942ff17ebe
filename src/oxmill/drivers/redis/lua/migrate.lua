-- Guarantee: the store has an identity and the newest version; doing it again changes nothing.
-- KEYS: ROOT.
-- ARGV: 3 newest version, 4 a random identity.
-- Result: the version that is there.
make_way()
local current = tonumber(redis.call('HGET', ROOT, 'version') or 0)
if current < tonumber(ARGV[3]) then
  redis.call('HSETNX', ROOT, 'identity', ARGV[4])
  redis.call('HSET', ROOT, 'version', ARGV[3])
  current = tonumber(ARGV[3])
end
return current
