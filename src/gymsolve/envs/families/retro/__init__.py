"""Console games by stable-retro: how one is opened, what its players press, and what a level run pays."""
