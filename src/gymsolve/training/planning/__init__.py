"""Plans: the settings of a run, resolved and measured before it starts."""
