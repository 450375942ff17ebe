-- The children that were staged under a name for a parent, in order.
-- Parameters: stage, parent.
-- Result: id.
SELECT n.id
FROM nodes AS n INDEXED BY nodes_member
WHERE n.member = :stage AND n.parent = :parent
ORDER BY n.member_no;
