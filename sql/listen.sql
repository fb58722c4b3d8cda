-- Receives the messages of other servers.
listen pgdisque
