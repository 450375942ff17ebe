-- Guarantee: rules are set and lifted in one step; no claim that starts later passes a closed gate.
-- Every shard keeps them, the first one tells.
-- KEYS: those of keys.py.
-- ARGV: 3 author of what is lifted, then per rule 9: kind:scope:target, event, title, author, expires
-- (-1: never), what the event says, rule, interval, burst; a rule of '' is lifted.
-- Result: {how many changed, {queues that may have opened}}.
make_way()
local first = string.sub(ROOT, -3) == ':0}'
local changed = 0
for i = 4, #ARGV, 9 do
  local field, kind, title, author, expires, says, rule, interval, burst = unpack(ARGV, i, i + 8)
  local packed = hget(RULES, field)
  if rule == '' then
    if packed then
      ruling.put(field, false)
      if first then tell(kind, title, ARGV[3], '') end
      changed = changed + 1
    end
  elseif not packed or cmsgpack.unpack(packed)[3] ~= rule then
    expires = tonumber(expires)
    ruling.put(field, cmsgpack.pack({expires, now, rule, tonumber(interval), tonumber(burst)}), expires)
    local queue = string.match(field, '^%a+:queue:(.*)$')
    if queue then named[queue] = true end
    if first then tell(kind, title, author, says) end
    changed = changed + 1
  end
end
flush()
ruling.flag()
ring()
return {changed, gained}
