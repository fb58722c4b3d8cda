-- fence_time(): a row of bucket whose rate older servers do not know is settled so much later; see fence_tokens()
interval '8760000 hours'
