"""The bandit: one state, ten arms."""
