"""gymsolve for coding agents: an MCP server over the verbs of `gymsolve.service`.

It imports neither torch nor gymnasium: trainings, evaluations and films are processes of their own.
"""
