-- fence_tokens(): a row of bucket whose rate older servers do not know has so many tokens less
--
-- Older servers find no tokens in such a row: it has too few, and it gets none until settled_at. fence_time() is
-- added to settled_at. A rate is fenced if it has a period or a burst.
1e6
