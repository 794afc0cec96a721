"""Settings as frozen pydantic models: one module per section of a recipe."""
