"""The browser's door: a light server over the run directory and the verbs of `service/`.

    server.py    the application, and how it is served       guard.py     who may ask: host, origin, token
    route.py     what a handler gets and gives               pages.py     which pages there are
    sessions.py  a process per session, relayed              static/      what the browser loads

Nothing here imports torch or gymnasium. Whatever steps an environment or computes a network runs in a process
of its own (`apps/serve.py`), which the server starts and ends.
"""
