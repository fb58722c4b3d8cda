-- Begins the transaction whose snapshot a backup has.
-- returns: whether the database has tables of pgdisque
begin isolation level repeatable read read only;

select to_regclass('pgdisque.migration') is not null
