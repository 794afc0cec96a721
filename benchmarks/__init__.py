"""Speed, measured: beside the tools people use today, and against what this machine could do.

    __main__.py     parts, options             harness.py   one worker process, watched for noise
    throughput.py, solve.py, race.py           beside peers
    micro.py, startup.py, server.py, limit.py, growth.py  the pieces, the bound, what grows
    cost.py, curiosity.py, archive.py          what seeing costs, what a bonus costs, and an archive
    browser/, crowd.py                         pages in a real browser, and their server under a crowd
    peers.py        virtual environments       store.py     results as they come
    figures.py      medians and ratios         page.py, tables.py   README.md from the results

Never part of the installed package: `gymsolve bench` runs it from a clone.
"""
