-- Shared by all scripts: who waits for an end is woken.
-- Guarantee: a hint only. A message holds ids, each after its length; who waits for one listens to its bucket.
-- KEYS: none.
-- ARGV: 2 the bells' channel prefix, empty to ring none.
-- Result: `ring_ended(ids, flows, here)`: jobs by their ids as kept, flows by their texts; `here` if all who listen do
-- so at this server, so that it knows whether anybody does.
local function ring_ended(ids, flows, here)
  if ARGV[2] == '' then return end
  local BUCKETS, byte, told, sizes, heard = 16, string.byte, {}, {[17] = '\17', [32] = ' '}, nil

  -- By bucket whether anybody listens; nothing if nobody does.
  local function listeners()
    local channels, found, some = {}, {}, false
    for bucket = 0, BUCKETS - 1 do channels[bucket + 1] = ARGV[2] .. 'ended:' .. bucket end
    local counts = redis.pcall('PUBSUB', 'NUMSUB', unpack(channels))
    for bucket = 0, BUCKETS - 1 do
      found[bucket] = counts.err or counts[2 * bucket + 2] > 0
      some = some or found[bucket]
    end
    return some and found
  end

  -- To tell a few takes less than to ask who listens.
  if here and #ids > BUCKETS then
    heard = listeners()
    if not heard then return end
  end

  local function note(id, bucket)
    if heard and not heard[bucket] then return end
    local some, size = told[bucket], #id
    if not some then
      some = {}
      told[bucket] = some
    end
    local last = #some
    some[last + 1], some[last + 2] = sizes[size] or string.char(size), id
  end

  for i = 1, #ids do
    local id = ids[i]
    note(id, byte(id, -1) % BUCKETS)
  end
  for i = 1, #flows do
    -- Its bucket is that of the last byte of the id as pack_id in record.py writes it: of 32 hex digits the last.
    local flow = flows[i]
    local last = byte(flow, -1)
    local letter = last >= 97 and last <= 102 and #flow == 32 and not string.find(flow, '[^0-9a-f]')
    note(flow, (letter and last - 87 or last) % BUCKETS)
  end
  for bucket, some in pairs(told) do redis.call('PUBLISH', ARGV[2] .. 'ended:' .. bucket, table.concat(some)) end
end
