-- Guarantee: rules are set and lifted in one step; no claim that starts later passes a closed gate.
-- KEYS: RULES, QUEUES, EVENTS.
-- ARGV: 3 author of what is lifted, then per rule 7: kind:scope:target, event, target, author,
-- expires (-1: never), reason, rule; a rule of '' is lifted.
-- Result: {how many changed, {queues that may have opened}}. A rule is kept as {expires, set at,
-- rule}.
make_way()
local changed = 0
for i = 4, #ARGV, 7 do
  local field, kind, target, author, expires, reason, rule = unpack(ARGV, i, i + 6)
  local packed = hget(RULES, field)
  if rule == '' then
    if packed then
      hput(RULES, field, false)
      tell(kind, target, ARGV[3], '')
      changed = changed + 1
      gain(target)
    end
  elseif not packed or cmsgpack.unpack(packed)[3] ~= rule then
    hput(RULES, field, cmsgpack.pack({tonumber(expires), now, rule}))
    named[target] = true
    tell(kind, target, author, reason)
    changed = changed + 1
  end
end
flush()
ring()
return {changed, gained}
