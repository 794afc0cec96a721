"""Studies: questions about learning that trainings answer, each a command that anybody can repeat.

A study is a list of cases, one training each. Their results are stored one by one, so that an interrupted
study goes on where it was; a page is made of what there is.
"""
