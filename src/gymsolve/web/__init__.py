"""The server for browsers: light, over the run directory and the verbs of `service/`.

    server.py    the application                             guard.py     checks of host, origin and token
    route.py     requests and replies of handlers            routes.py    addresses and their handlers
    sessions.py  a process per session, relayed              pages.py, static/   pages and their files

Nothing here imports torch or gymnasium. Sessions that step environments and compute networks are processes
of their own (`apps/serve.py`), which the server starts and ends.
"""
