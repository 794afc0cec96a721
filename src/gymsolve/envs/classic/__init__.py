"""Shapers of classic control: what an episode of CartPole or MountainCar can be paid for besides its task."""
