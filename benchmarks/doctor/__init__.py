"""The doctor, scored: faults are put into real short trainings, and the diagnosis is compared with them.

    fault.py      what a fault is                              wrappers.py, patches.py   how it gets in
    faults.py     every fault, and the alerts that name it     method_faults.py          those of methods
    cases.py      faults × environments × seeds, two halves    train.py                  one training
    results.py    what was diagnosed, kept as it comes         score.py, page.py         what it is worth

Faults come from outside of the product: settings, wrappers, or code replaced in the process of one
training. `python -m benchmarks.doctor`, or `make doctor-bench`.
"""
