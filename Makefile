# `make demo` trains a classifier, `make test` runs the tests, `make quick` those that are over in two
# minutes, `make docs` builds the site in docs/_build/html: each sets up what it needs first.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
# Files that go through every requirement: formats, solvers, Ocean, scikit-learn, Leap, Dask.
LOWEST_TESTS ?= tests/files/test_golden.py tests/test_ocean.py tests/test_pipeline.py \
  tests/test_sklearn.py tests/leap/test_nonlinear.py tests/leap/test_submission.py \
  tests/moments/test_dask.py tests/solvers/test_restarts.py tests/project/test_packaging.py
# An environment with the lowest versions that setup.cfg declares. They have wheels for Python 3.11.
LOWEST ?= $(VENV)-lowest

.PHONY: demo test quick test-lowest lint docs clean

demo: $(READY)
	$(BIN)/python examples/first_classifier.py

test: $(READY)
	$(BIN)/python -m pytest -n auto --dist loadfile

quick: $(READY)
	$(BIN)/python -m pytest -n auto --dist worksteal -m 'not slow'

# Kernels are kept apart from those of the other environment, which has another compiler.
test-lowest: $(LOWEST)/.ready
	QCOMPILE_LOWEST=1 NUMBA_CACHE_DIR=$(abspath $(LOWEST))/numba $(LOWEST)/bin/python -m pytest \
	  -n auto --dist worksteal -m 'not slow or lowest' $(LOWEST_TESTS)

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Every warning is an error; -E reads all pages anew, so that none is left from an earlier build.
docs: $(READY)
	$(BIN)/python -m sphinx -q -E -n -W --keep-going -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

$(READY): setup.cfg pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "qcompile needs Python 3.11 or newer; found $$($(PYTHON) --version). Try: make PYTHON=python3.12 ..."; exit 2; }
	@$(PYTHON) -c 'import ensurepip' \
	  || { echo "The venv module is missing. On Debian: apt-get install python3-venv"; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@

$(LOWEST)/.ready: setup.cfg
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' \
	  || { echo "The lowest versions have wheels for Python 3.11; found $$($(PYTHON) --version). Try: make PYTHON=python3.11 test-lowest"; exit 2; }
	$(PYTHON) -m venv --clear $(LOWEST)
	$(LOWEST)/bin/python -m pip install --quiet uv
	$(LOWEST)/bin/uv pip install --quiet --python $(LOWEST)/bin/python --resolution lowest-direct --compile-bytecode --editable '.[dev]'
	@touch $@

clean:
	rm -rf $(VENV) $(LOWEST) build dist out .ci/work docs/_build docs/examples/made
