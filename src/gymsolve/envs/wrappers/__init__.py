"""Wrappers that recipes use by name; the table is `gymsolve.registry.WRAPPERS`."""
