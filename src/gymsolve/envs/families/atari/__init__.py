"""Atari: ALE's vector backend, its preprocessing, and objects read from the console's memory."""
