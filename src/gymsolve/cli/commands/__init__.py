"""One module per command, or per family of commands: parse, call one verb, print."""
