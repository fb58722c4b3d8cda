-- group_tokens(group, limits, now): the tokens of a row of job_group at that time
--
-- limits is a row of group_limits() with a rate. A group that is new, or had no rate, has null tokens: it has all.
least(
    :limits.burst,
    coalesce(:group.tokens + :limits.rate * greatest(0, extract(epoch from :now - :group.settled_at)), 'infinity'))
