"""Tools for people who work on this project; nothing here is installed."""
