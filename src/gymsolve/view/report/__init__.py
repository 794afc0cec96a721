"""Reports for people: report.md and report.html of a run, and comparisons of runs.

    sections.py   small functions that make blocks; those      figures.py    charts as data
                  with more to say have a file: verdict.py,    svg.py        charts as SVG
                  curves.py, stages.py, audit.py, prompt.py    textchart.py  charts as text
    write.py      both files of one run                        document.py   blocks
    comparison.py, seeds.py, comparison_page.py: several runs  page.py, markdown.py   documents as files

Pure functions over a `DiagnosedRun`. A report needs no plotting library, no script and no network.
"""
