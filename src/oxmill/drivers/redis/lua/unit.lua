-- Shared by all scripts: one unit of work.
-- Guarantee: nothing is written before `flush`, so a script that refuses or fails leaves no trace,
-- and every read sees the writes that are still to come.
-- KEYS: those of keys.py, named by the prelude.
-- ARGV: 2 the bells' channel prefix, empty to ring none.
-- Result: the functions below.
local CHUNK = 4000
-- Numbers of arrival and places in line: six bytes that sort as the numbers do.
local NUMBER, NUMBER_SIZE = '>I6', 6

local hashes, zsets, tallies = {}, {}, {}
local named, soonest, granted, pages = {}, {}, {}, {}
local events, gained, ended = {}, {}, {}
local gained_once, last_number = {}, nil

local function send(command, key, list)
  for first = 1, #list, CHUNK do
    redis.call(command, key, unpack(list, first, math.min(first + CHUNK - 1, #list)))
  end
end

local function hget(key, field)
  local own = hashes[key]
  if own and own[field] ~= nil then return own[field] end
  return redis.call('HGET', key, field)
end

local function hput(key, field, value)
  local own = hashes[key]
  if not own then own = {}; hashes[key] = own end
  own[field] = value
end

local function zput(key, member, score)
  local own = zsets[key]
  if not own then own = {}; zsets[key] = own end
  own[member] = score
end

local function hmget(key, fields)
  local found = {}
  for first = 1, #fields, CHUNK do
    local some = redis.call('HMGET', key, unpack(fields, first, math.min(first + CHUNK - 1, #fields)))
    for i = 1, #some do found[first + i - 1] = some[i] end
  end
  return found
end

local function tally(field, count)
  tallies[field] = (tallies[field] or 0) + count
end

local function draw()
  if not last_number then last_number = tonumber(redis.call('HGET', ROOT, 'drawn') or 0) end
  last_number = last_number + 1
  return last_number
end

local function soon(queue, moment)
  local before = soonest[queue]
  if not before or moment < before then soonest[queue] = moment end
end

local function gain(queue)
  if not gained_once[queue] then
    gained_once[queue] = true
    gained[#gained + 1] = queue
  end
end

local function text_of(id)
  if string.byte(id) ~= 1 then return id end
  return (string.gsub(string.sub(id, 2), '.', function(byte)
    return string.format('%02x', string.byte(byte))
  end))
end

local function tell(kind, target, author, detail, at)
  events[#events + 1] = {kind, target, author, detail, at or now}
end

-- A message names what changed; listeners of other topics on the channel pass it over.
local function ring()
  local prefix = ARGV[2]
  if prefix == '' then return end
  for _, queue in ipairs(gained) do redis.call('PUBLISH', prefix .. 'work:' .. queue, '') end
  ring_ended(ended, ended.flows or {})
  if ended.ordered then redis.call('PUBLISH', prefix .. 'control', '') end
  if ended.unswept then redis.call('PUBLISH', prefix .. 'sweep', '') end
end

-- Over its memory limit a server refuses a script whose first write may need memory, and lets all
-- pass once it has written. Scripts that must work even then start with a write that frees.
local function make_way()
  redis.call('HDEL', ROOT, '-')
end

local flush, flushing = nil, {}
do
  local EVENTS_KEPT = 100000

  local function write_hash(key, fields)
    local puts, drops = {}, {}
    for field, value in pairs(fields) do
      if value then
        puts[#puts + 1] = field
        puts[#puts + 1] = value
      else
        drops[#drops + 1] = field
      end
    end
    send('HDEL', key, drops)
    send('HSET', key, puts)
  end

  local function write_zset(key, members)
    local puts, drops = {}, {}
    for member, score in pairs(members) do
      if score then
        puts[#puts + 1] = score
        puts[#puts + 1] = member
      else
        drops[#drops + 1] = member
      end
    end
    send('ZREM', key, drops)
    send('ZADD', key, puts)
  end

  -- Many are read and written at once: flows have some each.
  local function write_tallies()
    local fields, few = {}, 2
    for field, count in pairs(tallies) do
      if count ~= 0 then fields[#fields + 1] = field end
    end
    if #fields <= few then
      for _, field in ipairs(fields) do redis.call('HINCRBY', TALLIES, field, tallies[field]) end
      return
    end
    local puts = {}
    for i, value in ipairs(hmget(TALLIES, fields)) do
      puts[2 * i - 1], puts[2 * i] = fields[i], string.format('%d', tonumber(value or 0) + tallies[fields[i]])
    end
    send('HSET', TALLIES, puts)
  end

  local function write_pages()
    for page, count in pairs(pages) do
      if count ~= 0 then
        local filled = redis.call('HINCRBY', FILLED, page, count)
        if filled == 0 then
          redis.call('HDEL', FILLED, page)
          redis.call('ZREM', PAGES, page)
        elseif filled == count then
          redis.call('ZADD', PAGES, page, page)
        end
      end
    end
  end

  local function write_events()
    for _, event in ipairs(events) do
      local number = redis.call('HINCRBY', ROOT, 'told', 1)
      redis.call('XADD', EVENTS, 'MAXLEN', '~', EVENTS_KEPT, string.format('%d-0', number),
        'at', string.format('%d', event[5]), 'kind', event[1], 'target', event[2],
        'author', event[3], 'detail', event[4])
    end
  end

  local function moves()
    for _, members in pairs(zsets) do
      for _, score in pairs(members) do
        if not score then return true end
      end
    end
    return false
  end

  -- A key of another type, which somebody else has put there, must stop a script that moves jobs before it
  -- writes; where jobs are only added, the order of writing is enough. Asked of the keys of queues only: the
  -- others are not named by people, or cannot lose a job.
  local function check_types()
    if not moves() then return end
    local OURS = {field = 1, members = 1, state = 1, stages = 1, shelf = 1, staged = 1, children = 1, up = 1}
    for command, keys in pairs({HLEN = hashes, ZCARD = zsets}) do
      for key in pairs(keys) do
        local kind = string.match(key, '^:(%l+):', #ROOT + 1)
        if kind and not OURS[kind] then redis.call(command, key) end
      end
    end
  end

  -- What makes a repeated call a duplicate comes last, so that one that was stopped can be repeated.
  flush = function()
    if flushing.jobs then flushing.jobs() end
    if flushing.flows then flushing.flows() end
    if flushing.counts then flushing.counts() end
    if flushing.groups then flushing.groups() end
    check_types()
    if last_number then redis.call('HSET', ROOT, 'drawn', string.format('%d', last_number)) end
    for key, members in pairs(zsets) do write_zset(key, members) end
    local ids = hashes[IDS]
    hashes[IDS] = nil
    for key, fields in pairs(hashes) do write_hash(key, fields) end
    write_tallies()
    write_pages()
    for queue in pairs(named) do redis.call('SADD', QUEUES, queue) end
    for queue, moment in pairs(soonest) do redis.call('ZADD', MOMENTS, 'LT', moment, queue) end
    for queue, moment in pairs(granted) do redis.call('ZADD', GRANTS, 'GT', moment, queue) end
    write_events()
    if ids then write_hash(IDS, ids) end
    hashes, zsets, tallies, events = {}, {}, {}, {}
    named, soonest, granted, pages = {}, {}, {}, {}
  end
end
