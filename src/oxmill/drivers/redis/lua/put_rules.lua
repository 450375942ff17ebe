-- Guarantee: rules are set and lifted in one step; no claim that starts later passes a closed gate.
-- Every shard keeps them, the first one tells.
-- KEYS: RULES, QUEUES, EVENTS.
-- ARGV: 3 author of what is lifted, then per rule 7: kind:scope:target, event, target, author,
-- expires (-1: never), reason, rule; a rule of '' is lifted.
-- Result: {how many changed, {queues that may have opened}}. A rule is kept as {expires, set at,
-- rule}.
make_way()
local first = string.sub(ROOT, -3) == ':0}'
local changed = 0
for i = 4, #ARGV, 7 do
  local field, kind, target, author, expires, reason, rule = unpack(ARGV, i, i + 6)
  local packed = hget(RULES, field)
  if rule == '' then
    if packed then
      hput(RULES, field, false)
      if first then tell(kind, target, ARGV[3], '') end
      changed = changed + 1
      gain(target)
    end
  elseif not packed or cmsgpack.unpack(packed)[3] ~= rule then
    hput(RULES, field, cmsgpack.pack({tonumber(expires), now, rule}))
    named[target] = true
    if first then tell(kind, target, author, reason) end
    changed = changed + 1
  end
end
flush()
ring()
return {changed, gained}
