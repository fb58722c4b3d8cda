-- Removes what stood in the way, the snapshot apart, which is another session's.
rollback prepared 'soak';

select pg_drop_replication_slot(slot_name)
from pg_replication_slots;

-- Ends the vacuum of it, too.
drop table soak.neighbour;
