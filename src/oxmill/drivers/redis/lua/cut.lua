-- Shared by the short ways of claims and settlements: records are cut and put together, not unpacked, since
-- strings are what scripts spend their time on. Jobs of one kind differ in their id, their time of enqueue,
-- their flow and their payload only: what lies between is judged once and known by its text.
-- Guarantee: looks only.
-- KEYS: none.
-- ARGV: none.
-- Result: `cut`.
local cut = {}
do
  local byte, sub, find = string.byte, string.sub, string.find
  local NUMBER_BYTES = {[204] = 2, [205] = 3, [206] = 5, [207] = 9, [208] = 2, [209] = 3, [210] = 5, [211] = 9}
  local ENQUEUED, FLOW, MOMENT, LONG_TEXT = 4, 30, 207, 217

  -- Where the number or text behind this one starts.
  local function past(text, at)
    local kind, size = byte(text, at, at + 1)
    if kind < 128 or kind > 223 then return at + 1 end
    if kind < 192 then return at + kind - 159 end
    if kind == LONG_TEXT then return at + 2 + size end
    if NUMBER_BYTES[kind] then return at + NUMBER_BYTES[kind] end
    return at + 3 + 256 * size + byte(text, at + 2)
  end

  -- Where the text behind so many numbers and texts starts.
  function cut.skip(text, at, count)
    for _ = 1, count do at = past(text, at) end
    return at
  end

  -- Where the parts of a record lie whose standing has a flow and a time of enqueue in full: the standing, that
  -- time, the text of the flow and what is behind it.
  local function outline(blob)
    local id_size, size, about = struct.unpack('>BI3I3', blob)
    local start = 8 + id_size
    local kind, _, places = byte(blob, start, start + 2)
    if kind ~= 220 or places < FLOW then return nil end
    local enqueued = cut.skip(blob, start + 4, ENQUEUED - 2)
    if byte(blob, enqueued) ~= MOMENT then return nil end
    local flow = cut.skip(blob, enqueued, FLOW - ENQUEUED)
    local over = past(blob, flow)
    local from = byte(blob, flow) == LONG_TEXT and flow + 2 or flow + 1
    return {id_size = id_size, size = size, about = about, start = start, enqueued = enqueued, from = from,
      over = over, stop = start + size - 1, places = places, frames = {}}
  end

  -- Gives a function that takes records of flows, with their frames, apart: their outline, what `judge_head`, `judge_middle`
  -- and `judge_end` said to what stands before the time of enqueue, between that and the flow, and behind the
  -- flow, and all that is behind the flow; nothing if one of them said nothing.
  function cut.cutter(judge_head, judge_middle, judge_end)
    local outlines, heads, middles, ends = {}, {}, {}, {}
    -- Of the last record: most are like the one before, and to compare them takes less than to cut them. Steps of
    -- one kind have even the same payload.
    local frame, o, start, behind, over, tail, length
    local head_text, middle_text, end_text, head, middle, last

    local function cut_up(blob)
      head_text, middle_text = sub(blob, o.start, o.enqueued), sub(blob, o.enqueued + 9, o.from - 1)
      end_text = sub(blob, o.over, o.stop)
      head, middle, last = heads[head_text], middles[middle_text], ends[end_text]
      return head and middle and last
    end

    return function(blob, sizes)
      if sizes == frame and find(blob, head_text, start, true) == start
        and find(blob, middle_text, behind, true) == behind then
        if #blob == length and find(blob, tail, over, true) then return o, head, middle, last, tail end
        if find(blob, end_text, over, true) == over then
          tail, length = sub(blob, over), #blob
          return o, head, middle, last, tail
        end
      end
      frame, o = nil, outlines[sizes]
      if not (o and cut_up(blob)) then
        o = outline(blob)
        if not o then return nil end
        if not cut_up(blob) then
          head, middle, last = judge_head(head_text), judge_middle(middle_text), judge_end(end_text, o.places)
          if not (head and middle and last) then return nil end
        end
        outlines[sizes], heads[head_text], middles[middle_text], ends[end_text] = o, head, middle, last
      end
      frame, start, behind, over = sizes, o.start, o.enqueued + 9, o.over
      tail, length = sub(blob, over), #blob
      return o, head, middle, last, tail
    end
  end
end
