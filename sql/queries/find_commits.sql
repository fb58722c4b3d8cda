-- Reads which of these transactions were committed.
-- params: $1 node, $2 transaction
-- returns: transaction
-- index: commit_marker_pkey
select f.transaction
from unnest($2::bigint[]) as k (transaction)
join pgdisque.commit_marker as f on f.node = $1::smallint and f.transaction = k.transaction
