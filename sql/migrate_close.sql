-- Ends the migration.
commit
