-- Deletes the commit markers of transactions whose results have arrived.
-- params: $1 node, $2 transaction (the first transaction without a result)
-- locks: the rows
-- index: commit_marker_pkey
delete from pgdisque.commit_marker as f
where f.node = $1::smallint
  and f.transaction < $2::bigint
