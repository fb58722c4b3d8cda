-- The transaction that is forgotten: its snapshot keeps every row that dies from now on.
begin isolation level repeatable read;

select count(*)
from soak.held;
