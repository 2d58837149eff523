"""The report: the published snapshot as one HTML page."""
