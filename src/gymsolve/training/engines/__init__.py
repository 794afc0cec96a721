"""What computes: the NumPy engine for small networks, the torch engine for everything else."""
