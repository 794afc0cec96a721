"""Can an agent do its work with nothing but the MCP tools? Tasks whose end can be checked.

`python -m benchmarks.agent` lets a scripted policy do them through the real client, which proves that the
tools suffice. With `--provider anthropic|openai --model NAME` a chat model tries; its key is taken from the
environment.
"""
