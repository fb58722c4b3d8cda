-- adds_up(value, more): a stored value is an integer, and so is its sum with more, in 64 bits
--
-- The case is needed, because Postgres would compute the sum of any text first.
case
    when encode(:value, 'escape') ~ '^(0|-?[1-9][0-9]{0,18})$'
        then encode(:value, 'escape')::numeric + encode(:more, 'escape')::numeric
            between -9223372036854775808 and 9223372036854775807
    else false
end
