"""Search spaces: which values of which settings a sweep tries, read, checked, derived and kept possible."""
