"""The light verbs that every door shares: plain data in, plain data out, no torch, no gymnasium.

Training itself is not here: a door that starts a run starts a process, `gymsolve train …`. Listing runs
needs nothing but the disk, so it does not wait for the code that understands recipes.
"""
