-- Guarantee: says what the store is. One that has no identity is given one, with its layout and number of
-- shards, in the same step, unless the caller knew another; then nothing is written.
-- KEYS: those of keys.py.
-- ARGV: 3 newest layout, 4 number of shards, 5 an identity for a new store ('' to look only), 6 the identity
-- known so far ('' for none), 7… the types of the keys.
-- Result: {layout (0: none), shards (0: none), identity, last number drawn, a key of another type}.
for i, key in ipairs(KEYS) do
  local found = redis.call('TYPE', key).ok
  if found ~= 'none' and found ~= ARGV[6 + i] then return {0, 0, '', 0, key} end
end
local kept = redis.call('HMGET', ROOT, 'version', 'shards', 'identity', 'drawn')
local layout, shards = tonumber(kept[1] or 0), tonumber(kept[2] or 0)
local mine = ARGV[5] ~= '' and layout <= tonumber(ARGV[3]) and (shards == 0 or shards == tonumber(ARGV[4]))
if mine and (shards == 0 or not kept[3]) and (kept[3] or ARGV[6] == '') then
  -- A write that frees comes first, as in make_way.
  redis.call('HDEL', ROOT, '-')
  if layout == 0 and not kept[3] then layout = tonumber(ARGV[3]) end
  shards, kept[3] = tonumber(ARGV[4]), kept[3] or ARGV[5]
  redis.call('HSET', ROOT, 'shards', shards, 'identity', kept[3])
  if layout > 0 then redis.call('HSET', ROOT, 'version', layout) end
end
return {layout, shards, kept[3] or '', tonumber(kept[4] or 0), ''}
