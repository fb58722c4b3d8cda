-- One job through a plain queue for pgbench: added, claimed, deleted; each statement is a command and a commit of its own.
insert into plain_job (queue, body)
values ('load', decode(repeat('5a', 100), 'hex'));

-- max() makes it one row also in the rare case that others have locked all that is visible.
with claimed as (
    update plain_job
    set claimed_at = now()
    where id = (
        select id
        from plain_job
        where queue = 'load' and claimed_at is null
        order by id
        limit 1
        for update skip locked
    )
    returning id, body
)
select coalesce(max(id), 0) as claimed_id
from claimed \gset

delete from plain_job
where id = :claimed_id;
