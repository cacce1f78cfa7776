"""Messages and where they come from. Knows neither Spark nor HTTP."""
