-- Shared: the gates of queues, groups and jobs, and when a closed one opens.
-- Guarantee: what a gate lets through is counted at once, so that no claim exceeds a limit or a rate;
-- a rate is kept as decision 0060 says, in whole microseconds.
-- KEYS: RULES, METERS.
-- ARGV: none.
-- Result: `gates`, the functions below. A gate is {closed = until when, used and most = running jobs,
-- valves = rates}; a valve is {meter, interval, burst, used up until, end of its rule}.
local gates = {never = math.huge}
do
  local PART = '\31'
  -- Of several closed gates on one target, the first of these is the one a job stands behind.
  local KINDS = {'block', 'pause', 'throttle'}
  local rules, meters, valves, named_gates = {}, {}, {}, {}

  local function fields_of(scope, target, into)
    for _, kind in ipairs(KINDS) do into[#into + 1] = kind .. ':' .. scope .. ':' .. target end
  end

  -- Read the rules on these targets of one kind in one step.
  function gates.fetch_rules(scope, names, more)
    local fields = more or {}
    for _, name in ipairs(names) do fields_of(scope, name, fields) end
    if #fields == 0 then return end
    for i, packed in ipairs(hmget(RULES, fields)) do rules[fields[i]] = packed end
  end

  function gates.flag(field)
    if rules[field] == nil then rules[field] = redis.call('HGET', RULES, field) end
    return rules[field]
  end

  -- Whether a rule on a task or a field is in force anywhere: the flag says until when.
  function gates.scoped()
    local ends = gates.flag('scoped')
    return ends and tonumber(ends) > now
  end

  function gates.rule(kind, scope, target)
    local packed = gates.flag(kind .. ':' .. scope .. ':' .. target)
    if not packed then return nil end
    local rule = cmsgpack.unpack(packed)
    if rule[1] < 0 or rule[1] > now then return rule end
  end

  function gates.fetch_meters(names)
    local missing = {}
    for _, name in ipairs(names) do
      if meters[name] == nil then missing[#missing + 1] = name end
    end
    if #missing == 0 then return end
    local scores = redis.call('ZMSCORE', METERS, unpack(missing))
    for i, name in ipairs(missing) do meters[name] = tonumber(scores[i] or 0) end
  end

  function gates.meter(name)
    if meters[name] == nil then gates.fetch_meters({name}) end
    return meters[name]
  end

  function gates.meter_name(kind, queue, group)
    return kind .. PART .. queue .. (group ~= '' and PART .. group or '')
  end

  function gates.closed_until(queue, group)
    local name = groups.closing_name(queue, group)
    return groups.new_closing(name) or gates.meter(name)
  end

  -- A throttle is one valve, whatever queues its jobs are in.
  local function valve(gate, meter, interval, burst, ends)
    if not valves[meter] then
      valves[meter] = {meter, interval, burst, gates.meter(meter), ends or gates.never}
    end
    gate.valves[#gate.valves + 1] = valves[meter]
  end

  local function new_gate() return {closed = {}, used = 0, valves = {}} end

  local function add_rule(gate, kind, scope, target)
    local rule = gates.rule(kind, scope, target)
    if not rule then return end
    local ends = rule[1] >= 0 and rule[1] or gates.never
    if kind == 'throttle' then
      valve(gate, 'throttle:' .. scope .. ':' .. target, rule[4], rule[5], ends)
    else
      gate.closed[#gate.closed + 1] = ends
    end
  end

  -- The gate that one rule is, by its name; open if there is no such rule any more.
  function gates.of_rule(name)
    if not named_gates[name] then
      named_gates[name] = new_gate()
      add_rule(named_gates[name], string.match(name, '^(%a+):(%a+):(.*)$'))
    end
    return named_gates[name]
  end

  -- Of a queue (the group is empty) or of a group in it; `used` of its jobs run.
  function gates.of(queue, group, used)
    local gate, settings = new_gate(), groups.settings(queue)
    local at = group == '' and 5 or 8
    gate.used = used
    gate.most = settings[at] and settings[at] >= 0 and settings[at] or nil
    if groups.ordered(queue, group) then gate.most = 1 end
    if settings[at + 1] and settings[at + 1] > 0 then
      valve(gate, gates.meter_name('rate', queue, group), settings[at + 1], settings[at + 2])
    end
    local asked = gates.closed_until(queue, group)
    if asked > now then gate.closed[1] = asked end
    for _, kind in ipairs(KINDS) do
      add_rule(gate, kind, group == '' and 'queue' or 'group', group == '' and queue or group)
    end
    return gate
  end

  -- The names of the rules there are on a job's task and fields.
  function gates.names_of(job)
    local parts, fields, found = about(job), {}, {}
    local words, targets = parts[7] or {}, {}
    local once = {}
    for i = 1, #words, 2 do
      local target = words[i] .. '=' .. string.sub(words[i + 1], 2)
      if words[i + 1] ~= 'l' and not once[target] then
        once[target] = true
        targets[#targets + 1] = target
      end
    end
    table.sort(targets)
    fields_of('task', parts[1], fields)
    for _, target in ipairs(targets) do fields_of('field', target, fields) end
    for _, field in ipairs(fields) do
      if gates.flag(field) then found[#found + 1] = field end
    end
    return found
  end

  function gates.room(each)
    local used = math.max(each[4] - now, 0)
    return math.max(each[3] - math.ceil(used / each[2]), 0)
  end

  -- When a valve has room for a start; no later than the end of its rule.
  function gates.opens_at(each) return math.min(each[4] - (each[3] - 1) * each[2], each[5]) end

  -- Nothing if the gate is open. Otherwise the latest moment known at which a part of it opens;
  -- `never` if only something that happens can open it.
  function gates.shut(gate)
    local closed, moment = false, -1
    if gate.most and gate.used >= gate.most then closed = true end
    for _, ends in ipairs(gate.closed) do
      closed = true
      if ends < gates.never then moment = math.max(moment, ends) end
    end
    for _, each in ipairs(gate.valves) do
      if gates.room(each) == 0 then
        closed = true
        moment = math.max(moment, gates.opens_at(each))
      end
    end
    return closed and (moment >= 0 and moment or gates.never) or nil
  end

  -- One job starts behind this gate.
  function gates.pass(gate)
    gate.used = gate.used + 1
    for _, each in ipairs(gate.valves) do
      each[4] = math.max(each[4], now) + each[2]
      meters[each[1]] = each[4]
      zput(METERS, each[1], each[4])
    end
  end
end
