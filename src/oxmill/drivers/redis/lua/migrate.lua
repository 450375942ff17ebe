-- Guarantee: the store has an identity and the newest version; doing it again changes nothing. Jobs of
-- groups that stand in the line come to lanes, and running ones are counted, in bounded steps, each once.
-- KEYS: those of keys.py.
-- ARGV: 3 newest version, 4 a random identity.
-- Result: the version that is there; 0 if the call must be repeated.
make_way()
local PAGES_AT_ONCE = 2
local current = tonumber(redis.call('HGET', ROOT, 'version') or 0)
if current >= tonumber(ARGV[3]) then return current end
redis.call('HSETNX', ROOT, 'identity', ARGV[4])

local function regroup(job)
  local s, group = job.s, groups.of(job)
  if group == '' then return end
  if s[STATE] == WAITING then
    zput(line_of(s[QUEUE]), rank(job), false)
    wait(job, group)
  elseif s[STATE] == RUNNING then
    groups.start(s[QUEUE], group)
  end
end

if current == 1 then
  local from = redis.call('HGET', ROOT, 'regrouped') or '-inf'
  local pages = redis.call('ZRANGEBYSCORE', PAGES, from, '+inf', 'LIMIT', 0, PAGES_AT_ONCE)
  for _, page in ipairs(pages) do
    local seqs = {}
    for number = page * PAGE, page * PAGE + PAGE - 1 do seqs[#seqs + 1] = struct.pack(NUMBER, number) end
    load_all(seqs)
    for _, seq in ipairs(seqs) do
      if load(seq) then regroup(load(seq)) end
    end
    hput(ROOT, 'regrouped', '(' .. page)
  end
  local rules = from == '-inf' and redis.call('HGETALL', RULES) or {}
  for i = 1, #rules, 2 do
    local expires = cmsgpack.unpack(rules[i + 1])[1]
    if expires >= 0 then zput(ENDINGS, rules[i], expires) end
  end
  flush()
  if #pages == PAGES_AT_ONCE then return 0 end
  redis.call('HDEL', ROOT, 'regrouped')
end
redis.call('HSET', ROOT, 'version', ARGV[3])
return tonumber(ARGV[3])
