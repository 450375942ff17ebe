-- Shared by all scripts: who waits for an end is woken.
-- Guarantee: a hint only. A message holds ids, each after its length; who waits for one listens to its bucket.
-- KEYS: none.
-- ARGV: 2 the bells' channel prefix, empty to ring none.
-- Result: `ring_ended(ids, flows)`: jobs by their ids as kept, flows by their texts.
local function ring_ended(ids, flows)
  if ARGV[2] == '' then return end
  local byte, buckets, sizes = string.byte, {}, {[17] = '\17', [32] = ' '}

  local function note(id, bucket)
    local told, size = buckets[bucket], #id
    if not told then
      told = {}
      buckets[bucket] = told
    end
    local last = #told
    told[last + 1], told[last + 2] = sizes[size] or string.char(size), id
  end

  for i = 1, #ids do note(ids[i], byte(ids[i], -1) % 16) end
  for i = 1, #flows do
    -- Its bucket is that of the last byte of the id as pack_id in record.py writes it: of 32 hex digits the last.
    local flow = flows[i]
    local last = byte(flow, -1)
    local letter = last >= 97 and last <= 102 and #flow == 32 and not string.find(flow, '[^0-9a-f]')
    note(flow, (letter and last - 87 or last) % 16)
  end
  for bucket, told in pairs(buckets) do redis.call('PUBLISH', ARGV[2] .. 'ended:' .. bucket, table.concat(told)) end
end
