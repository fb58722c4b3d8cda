-- token(job): the token of its last delivery
1::bigint + :job.nacks + :job.additional_deliveries
