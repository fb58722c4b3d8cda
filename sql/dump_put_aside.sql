-- Renames the schema that a restore replaces.
do $$
begin
    if to_regnamespace('pgdisque') is not null then
        alter schema pgdisque rename to pgdisque_replaced;
    end if;
end
$$
