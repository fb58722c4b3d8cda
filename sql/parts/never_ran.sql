-- never_ran(outcome): the error of a dead letter that waited for other jobs; outcome null: it has expired
case when :outcome is null then 'the time to live ended' else 'a predecessor failed' end::bytea
