"""Whatever writes stories or forecasts tokens. No Prefect and no database below here."""
