"""The engines: NumPy for small networks, torch for everything else."""
