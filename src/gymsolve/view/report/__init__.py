"""What a run was, for people: report.md and report.html, and comparisons of runs.

    facts.py      all that a run's folder tells, read once     figures.py    charts as data
    sections.py   small functions that make blocks; those      svg.py        charts as SVG
                  with more to say have a file: verdict.py,    textchart.py  charts as text
                  curves.py, audit.py, prompt.py               document.py   blocks
    write.py      both files of one run                        page.py, markdown.py   documents as files
    comparison.py, seeds.py, comparison_page.py                   several runs beside each other

Pure functions over the run directory. A report needs no plotting library, no script and no network.
"""
