"""A small OpenTelemetry for the examples of the documents, which use two of its modules."""
