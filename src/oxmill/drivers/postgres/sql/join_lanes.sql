-- Waiting jobs have their lanes; see the function of that name.
-- Parameters: arrays of group_name, queue, priority and place, in this order.
SELECT oxmill.join_lanes(
    :group_name::text[], :queue::text[], :priority::integer[], :place::bigint[]
);
