-- The failure that a delivery records, if the job's last lease ended without an acknowledgement.

set local search_path = pg_catalog, pg_temp;

-- A function, because Postgres prepares each expression of a statement at every execution. This one took 5 % of a
-- claim, but few claims need it. plpgsql, because Postgres would expand a body in SQL into the statement.
create function pgdisque.lease_ended(errors jsonb, ended_at timestamptz, attempt integer) returns jsonb
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
    return case when jsonb_array_length(errors) >= 20 then errors - 0 else coalesce(errors, '[]') end
        || jsonb_build_object(
            'at', floor(1000 * extract(epoch from ended_at))::bigint, 'attempt', attempt,
            'error', 'the lease ended');
end
$$;
