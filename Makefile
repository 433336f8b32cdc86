# Needs a Python >= 3.11, make and a package index; everything else is installed into .venv.
# Choose the Python with: make test PYTHON=/path/to/python3.12

PYTHONS := $(or $(PYTHON),python3 python3.13 python3.12 python3.11)
BIN := .venv/bin

# What each step needs installed; one stamp file each, made anew when pyproject.toml changes.
EXTRAS_demo := data,plot
EXTRAS_collector := client,serve,plot
EXTRAS_test := test
EXTRAS_docs := docs
EXTRAS_lint := test,lint

# Nothing of the user's own packages or settings may leak in.
export PYTHONNOUSERSITE := 1
export PIP_USER := 0
unexport PYTHONPATH PYTHONHOME PYTHONDONTWRITEBYTECODE
# Pictures go to files, whatever display there is.
export MPLBACKEND := Agg

# An environment left half made, or whose Python has gone away since, is made anew.
$(shell $(BIN)/python -c 'import pip' >/dev/null 2>&1 || rm -f $(BIN)/python .venv/.installed-*)

.DEFAULT_GOAL := help
.NOTPARALLEL:  # two steps must not install into one environment at once
.PHONY: help demo demo-collector test lint typecheck bench soak docs docs-serve docs-check pictures clean

help:  ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-15s %s\n", $$1, $$2 }' Makefile

demo: .venv/.installed-demo  ## the main job on real data, in seconds once installed
	$(BIN)/python examples/demo.py

demo-collector: .venv/.installed-collector  ## a collector, 200,000 real reports, and its page
	$(BIN)/python examples/demo_collector.py

# One worker for each processor, so one thread for each worker.
test soak: export OMP_NUM_THREADS := 1

# In a test the secure source draws the same words each time, and in a long one fresh words.
soak: export LAPWING_FRESH_DRAWS := 1

# Tests of one group share a process, and so one Java. Without a path in PYTEST_ARGS pytest takes the
# `testpaths` of pyproject.toml: the tests, and the package for its doctests.
PYTEST := $(BIN)/python -m pytest -n auto --maxprocesses 8 --dist loadgroup

test: .venv/.installed-test  ## all tests but the long ones, or PYTEST_ARGS="tests/results -k band"
	$(PYTEST) --doctest-modules $(PYTEST_ARGS)

soak: .venv/.installed-test  ## the long tests: faults, fuzzing, band coverage, planted errors
	$(PYTEST) -m soak $(PYTEST_ARGS)
	$(BIN)/python -m tests.mutation --errors 300 --seed 1 --minutes 60

lint: .venv/.installed-lint typecheck  ## style, format and types
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check .

typecheck: .venv/.installed-lint  ## types alone
	$(BIN)/python -m mypy --strict src

bench: .venv/.installed-test  ## speed, accuracy and the papers' figures
	$(BIN)/python -m benchmarks

# Warnings are errors. The network is needed for installing only.
docs: .venv/.installed-docs  ## build the documentation site in build/site
	$(BIN)/python docs/generate.py
	$(BIN)/python -m sphinx -q -W --keep-going -j auto -d build/doctrees -b html docs build/site
	@echo "open build/site/index.html, or make docs-serve"

docs-serve: docs  ## show the site at http://127.0.0.1:8001
	$(BIN)/python -m http.server --bind 127.0.0.1 --directory build/site 8001

# -E reads every page anew: Sphinx repeats no warning of a page that did not change.
docs-check: .venv/.installed-docs .venv/.installed-test  ## fail if a generated page is out of date, or the site has a fault
	$(BIN)/python docs/generate.py --check
	$(BIN)/python -m sphinx -q -E -W --keep-going -j auto -d build/doctrees -b html docs build/site
	$(BIN)/python docs/check_site.py

pictures: .venv/.installed-test  ## draw the pictures of the documentation (needs Chromium)
	$(BIN)/python docs/pictures.py

clean:  ## remove .venv, caches and what was built
	rm -rf .venv .hypothesis .mypy_cache .pytest_cache .ruff_cache build dist demo-output
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/.installed-%: pyproject.toml $(BIN)/python
	@echo "installing lapwing[$(EXTRAS_$*)] into .venv"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$(EXTRAS_$*)]'
	@touch $@

# Debian and Ubuntu leave ensurepip out of their Python: there, a pip that stands beside it fills the
# environment; where there is none either, the missing package is named.
$(BIN)/python:
	@found=; for python in $(PYTHONS); do \
	    if "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; \
	    then found="$$python"; break; fi; \
	done; \
	if [ -z "$$found" ]; then \
	    echo "Lapwing needs Python 3.11 or newer, and none of these is one: $(PYTHONS). Install it, or name it: make PYTHON=/path/to/python3.11" >&2; \
	    exit 1; \
	elif "$$found" -c 'import ensurepip, venv; ensurepip.version()' >/dev/null 2>&1; then \
	    "$$found" -m venv --clear .venv; \
	elif "$$found" -c 'import pip, venv' >/dev/null 2>&1; then \
	    "$$found" -m venv --clear --without-pip .venv && \
	    site=$$($@ -c 'import sysconfig; print(sysconfig.get_path("purelib"))') && \
	    "$$found" -m pip install --quiet --disable-pip-version-check --target "$$site" pip; \
	else \
	    package=$$("$$found" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])'); \
	    echo "$$found cannot make a virtual environment: its venv module is incomplete. Install it (Debian, Ubuntu: apt-get install $$package)." >&2; \
	    exit 1; \
	fi
