-- keeps_expired(queue_id): expired jobs of the queue become dead letters: QCONFIG expired dead
exists (
    select from pgdisque.queue_setting as s
    where s.queue_id = :queue_id
      and s.name = 'expired'
      and s.value = 'dead'
)
