"""Name an environment, get a solved agent and an explanation."""
