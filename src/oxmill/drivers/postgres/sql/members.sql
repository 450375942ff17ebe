-- The children that were staged under a name for a parent, in order.
-- Parameters: stage, parent.
-- Result: id.
SELECT n.id
FROM oxmill.nodes AS n
WHERE n.member = :stage::text AND n.parent = :parent::text
ORDER BY n.member_no;
