"""Does EnvPool play the game of the stock environment? Compared, stored as a table, and rerun by anybody."""
