"""Imitation: the policy learns the actions of recorded episodes."""
