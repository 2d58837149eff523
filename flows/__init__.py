"""What runs: settings, study files, stages and the command line."""
