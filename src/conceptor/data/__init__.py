"""Which data files exist, where they are found, how they are fetched and verified."""
