-- last_errors(errors): the failures of a job before one more is appended; 20 are kept
case when jsonb_array_length(:errors) >= 20 then :errors - 0 else coalesce(:errors, '[]') end
