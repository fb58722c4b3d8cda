-- Hears what the other servers tell.
listen pgdisque
