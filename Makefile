# Everything starts from a fresh clone: the first target that needs it builds .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
QUIET_PIP := $(PIP) install --quiet --constraint constraints.txt
# Its lines and progress bars say how much is still to come.
SHOWN_PIP := $(PIP) install --constraint constraints.txt
# Runs sync hundreds of small files; where memory holds them, the tests do not wait for the disk.
MEMORY := $(shell df --output=avail -k /dev/shm 2>/dev/null | awk 'NR == 2 && $$1 > 4000000 { print "/dev/shm" }')
PYTEST = $(if $(MEMORY),PYTEST_DEBUG_TEMPROOT=$(MEMORY)) $(BIN)/python -m pytest -n $(WORKERS)
# A process runs all tests of a file; the longest files come first (tests/durations.py).
BY_FILE := --dist loadfile --no-loadscope-reorder
ENV ?= CartPole-v1
# One more than the cores that there should be: some tests mostly wait.
WORKERS ?= 3
ROUNDS ?= 5000
# Trainings at a time of `make same`.
JOBS ?= 2
# The tests start hundreds of programs; without files of compiled code each would compile gymsolve again.
unexport PYTHONDONTWRITEBYTECODE
# One thread per process: on small matrices more of them cost more than they save.
export OMP_NUM_THREADS ?= 1

.PHONY: solve test durations fuzz smoke check same learn bench doctor-bench format docs clean help

help:
	@echo "make solve     install what is needed and train $(ENV) to solved (ENV=... for another)"
	@echo "make test      install the test tools and run the whole test suite"
	@echo "make durations run the tests and store what each file takes: the longest start first"
	@echo "make fuzz      hostile input: command lines, recipes and files, many rounds (ROUNDS=...)"
	@echo "make smoke     train, resume and film every shipped recipe, restore its environment; make test: one of a family"
	@echo "make check     linters of Python and JavaScript, types, dependency direction, recipes"
	@echo "make same      prove that a change left training the same, bit for bit, as at another commit (BASE=... ONLY=...)"
	@echo "make learn     longer proofs: trainings to a threshold, several seeds"
	@echo "make bench     measure speed beside other tools: some hours (benchmarks/README.md)"
	@echo "make doctor-bench  score the diagnosis on trainings with faults: under an hour; resumes"
	@echo "make format    format code and recipes"
	@echo "make docs      regenerate the generated pages of docs/"

solve: $(VENV)/.installed
	@for extra in $$($(BIN)/python -m gymsolve.envs.extras $(ENV)); do \
	  echo "$(ENV) needs the extra $$extra; installing it, once ..."; \
	  $(SHOWN_PIP) --editable ".[$$extra]" || exit 1; done
	$(BIN)/gymsolve train $(ENV)

# The tests of a file run in one process: what they share is made, and what they need imported, once.
test: $(VENV)/.installed-dev
	@$(BIN)/python tests/chromium.py
	@$(BIN)/python -m compileall -q -j 0 src tests
	GYMSOLVE_TEST_BROWSER=required $(PYTEST) $(BY_FILE)
	@$(if $(MEMORY),rm -rf $(MEMORY)/pytest-of-$$(id -un))

# Two cores that have nothing else to do.
durations: $(VENV)/.installed-dev
	GYMSOLVE_TEST_BROWSER=required $(PYTEST) $(BY_FILE) --store-durations

# A few rounds of it are in make test.
fuzz: $(VENV)/.installed-dev
	GYMSOLVE_FUZZ_ROUNDS=$(ROUNDS) $(PYTEST) $(BY_FILE) --timeout 7200 tests/fuzz

smoke: $(VENV)/.installed-dev
	$(PYTEST) -m "smoke or not smoke" tests/recipes/test_recipe_smoke.py tests/envs/test_env_snapshots.py

check: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/oxlint src/gymsolve/web/static
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/gymsolve recipes check

# Both versions are trained on this machine; what BASE gave is kept in .same/.
same: $(VENV)/.installed-dev
	@$(BIN)/python -m tools.same --jobs $(JOBS) $(if $(BASE),--base $(BASE)) $(if $(ONLY),--only $(ONLY))

learn: $(VENV)/.installed-dev
	$(PYTEST) -m "learn or slow" --timeout 1800

bench: $(VENV)/.installed-dev
	$(BIN)/gymsolve bench

doctor-bench: $(VENV)/.installed-dev
	$(BIN)/python -m benchmarks.doctor

format: $(VENV)/.installed-dev
	$(BIN)/ruff check --fix --quiet . || true
	$(BIN)/ruff format .
	$(BIN)/gymsolve recipes format src/gymsolve/zoo/*.yaml

docs: $(VENV)/.installed-dev
	$(BIN)/python docs/generate.py

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
	  { echo "gymsolve needs Python 3.11 or newer; point to one with: make PYTHON=/path/to/python3.11"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || \
	  { echo "Python's venv module is missing; on Debian or Ubuntu: sudo apt-get install python3-venv"; exit 1; }

# The compiled kernels are built by the installation, so their source counts too.
$(VENV)/.installed: pyproject.toml constraints.txt setup.py $(wildcard src/gymsolve/fast/*.[ch] src/gymsolve/envs/families/*/*.c) | $(VENV)/bin/python
	@echo "Installing gymsolve into $(VENV), once: some minutes, most of them for downloading PyTorch."
	@echo "1 of 2: PyTorch ..."
	@$(SHOWN_PIP) torch
	@echo "2 of 2: gymsolve, and the other packages that it needs ..."
	@$(SHOWN_PIP) --editable .
	@echo "Installed."
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	@echo "Installing the development tools into $(VENV), once: a minute or more ..."
	@$(QUIET_PIP) --editable '.[dev]'
	@touch $@
