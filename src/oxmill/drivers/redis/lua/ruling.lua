-- Shared: rules come and go.
-- Guarantee: whatever a changed rule kept back is looked at again by the next claim: lanes of its
-- group, jobs set aside behind it, ordered lanes that wait for it.
-- KEYS: RULES, ENDINGS, COVERS, QUEUES.
-- ARGV: none.
-- Result: `ruling`, the functions below. A rule is kept as {expires (-1: never), set at, rule, interval,
-- burst} under kind:scope:target.
local ruling = {}
do
  local names

  local function queues()
    if not names then
      names = redis.call('SMEMBERS', QUEUES)
      table.sort(names)
    end
    return names
  end

  local function look_again(field, scope, target, lifted)
    for _, queue in ipairs(scope == 'queue' and {} or queues()) do
      if scope == 'group' then
        local lanes = groups.crew(queue, target)[2]
        groups.open(queue, target)
        if lifted and #lanes > 0 then gain(queue) end
      else
        local aside = redis.call('ZCARD', groups.key('aside', queue, field))
        if aside > 0 or redis.call('ZCARD', groups.key('stalled', queue, field)) > 0 then
          zput(groups.key('gates', queue), field, 0)
          hput(RULES, 'gated:queue:' .. queue, '1')
        end
        if lifted and aside > 0 then gain(queue) end
      end
    end
    if scope == 'queue' and lifted then gain(target) end
  end

  -- Write a rule down, or let it go if `kept` is false.
  function ruling.put(field, kept, expires)
    local kind, scope, target = string.match(field, '^(%a+):(%a+):(.*)$')
    local ends = kept and (expires >= 0 and expires or '+inf')
    if scope == 'group' and not kept ~= not hget(RULES, field) then
      local count = tonumber(hget(RULES, 'grouped') or 0) + (kept and 1 or -1)
      hput(RULES, 'grouped', count > 0 and tostring(count))
    end
    hput(RULES, field, kept)
    if scope ~= 'queue' or not kept or expires >= 0 then zput(ENDINGS, field, ends) else zput(ENDINGS, field, false) end
    if scope == 'task' or scope == 'field' then zput(COVERS, field, ends) end
    if scope == 'queue' and kind == 'throttle' and kept then hput(RULES, 'gated:queue:' .. target, '1') end
    look_again(field, scope, target, not kept)
  end

  -- After the flush: the flag says until when some rule on a task or a field is in force.
  function ruling.flag()
    local last = redis.call('ZREVRANGE', COVERS, 0, 0, 'WITHSCORES')[2]
    if last then redis.call('HSET', RULES, 'scoped', last) else redis.call('HDEL', RULES, 'scoped') end
  end
end
