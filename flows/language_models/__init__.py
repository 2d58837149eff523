"""What forecasts next tokens: small language models whose every probability is exact."""
