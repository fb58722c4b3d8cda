-- rate(name, period): jobs per second by the settings s with these names; null: none
max(case when s.name = :name then convert_from(s.value, 'UTF8') end)::double precision
    / coalesce(max(case when s.name = :period then convert_from(s.value, 'UTF8') end)::double precision, 1)
