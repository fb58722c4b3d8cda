-- Deletes the commit markers of transactions whose results have arrived. The lower bound skips rows that were deleted
-- before: while an old snapshot keeps them from vacuum, each run would read all of them.
-- params: $1 node, $2 transaction (the first transaction without a result), $3 from (markers of earlier transactions
--         are deleted)
-- locks: the rows
-- index: commit_marker_pkey
delete from pgdisque.commit_marker as f
where f.node = $1::smallint
  and f.transaction >= $3::bigint
  and f.transaction < $2::bigint
