-- Writes the commit marker of a transaction. If the result of the transaction is lost, the marker shows that it
-- was committed. forget_commits deletes it later.
-- params: $1 node, $2 transaction
-- index: commit_marker_pkey
insert into pgdisque.commit_marker (node, transaction)
values ($1::smallint, $2::bigint)
