-- Deletes the schema that a restore has replaced.
drop schema if exists pgdisque_replaced cascade
