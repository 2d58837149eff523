"""The files: schema, connections, writers, readers and the published snapshot."""
