-- Guarantee: of the entries looked at, those of jobs that are gone go; the others stay.
-- KEYS: JOBS, IDS.
-- ARGV: 3 'mend', or 'look' to write nothing; 4 the index: the rest of its key's name; 5 where to go on ('0' from
-- the start).
-- Result: {where to go on ('0' at the end), how many entries had no job}.
local AT_ONCE = 250
local key = ROOT .. ':' .. ARGV[4]
local told = redis.call(key == IDS and 'HSCAN' or 'ZSCAN', key, ARGV[5], 'COUNT', AT_ONCE)
local members, seqs, lost = {}, {}, 0
for i = 1, #told[2], 2 do
  members[#members + 1] = told[2][i]
  seqs[#seqs + 1] = key == IDS and told[2][i + 1] or seq_of(told[2][i])
end
for i, blob in ipairs(#seqs > 0 and hmget(JOBS, seqs) or {}) do
  if not blob then
    lost = lost + 1
    if key == IDS then hput(IDS, members[i], false) else groups.bury(key, members[i]) end
  end
end
if ARGV[3] == 'mend' then flush() end
return {told[1], lost}
