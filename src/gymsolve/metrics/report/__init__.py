"""What a run was, for people: report.md and report.html, and comparisons of runs.

    facts.py      all that a run's folder tells, read once     figures.py    charts as data
    sections      verdict.py, curves.py, findings.py,          svg.py        charts as SVG
                  outcome.py, settings.py, audit.py,           textchart.py  charts as text
                  prompt.py: small functions that make blocks  document.py   blocks
    write.py      both files of one run                        page.py, markdown.py   documents as files
    comparison.py several runs beside each other

Pure functions over the run directory. A report needs no plotting library, no script and no network.
"""
