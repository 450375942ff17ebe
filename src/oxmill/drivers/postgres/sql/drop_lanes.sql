-- Lanes without jobs go; see the function of that name.
-- Parameters: arrays of group_name, queue and priority, in this order.
SELECT oxmill.drop_lanes(:group_name::text[], :queue::text[], :priority::integer[]);
