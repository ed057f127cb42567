# Everything a checkout needs; `make help` lists it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Tests start Python some hundred times: it keeps what it has compiled, even where it is told not to.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup demo test long faults mutations unit check format bench schemas lock

help:  ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(VENV)/.installed  ## Install the locked packages and fetch the jars; quick when all is there
	@$(BIN)/headrace setup

demo: setup  ## Run the demo project on a broker of its own
	@$(BIN)/headrace demo

long: setup  ## Run all tests with all of their cases (hours); `test` leaves many out
	@$(BIN)/python -m pytest -n 3 --no-loadscope-reorder --durations 20 -m "long or not long"
	@HEADRACE_SMALL_BATCHES=jobs $(BIN)/python -m pytest -n 3 tests/models -k all-at-once -m "long or not long"

test: setup  ## Run the tests
	@$(BIN)/python -m pytest -n 3 --no-loadscope-reorder --durations 20
	@HEADRACE_SMALL_BATCHES=jobs $(BIN)/python -m pytest -n 3 tests/models -k all-at-once

unit: $(VENV)/.installed  ## Run the tests that need no JVM
	@$(BIN)/python -m pytest tests/unit

faults: setup  ## Let runs die, stop, meet and lose power in many more ways than `test` does
	@HEADRACE_FAULTS_REPORT=docs/faults.md $(BIN)/python -m pytest -n 2 --durations 20 -m "long or not long" \
	    tests/faults tests/kafka/test_kills.py tests/kafka/test_clock.py \
	    tests/spark/test_power_loss.py tests/unit/test_power_loss.py

mutations: setup  ## Put faults into the code, one at a time: each must turn its test red
	@$(BIN)/python -m tests.faults.mutations

check: $(VENV)/.installed  ## Lint, formatting, types and layers
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

format: $(VENV)/.installed  ## Format the code and mend what lint can mend
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

bench: setup  ## Measure speed and latency
	@$(BIN)/python -m bench

schemas: $(VENV)/.installed  ## Write the JSON schemas of the project's YAML
	@$(BIN)/headrace schemas

lock:  ## Write requirements.lock anew from pyproject.toml (needs uv)
	uv pip compile pyproject.toml --extra dev --universal --python-version 3.10 --generate-hashes \
	    --no-emit-index-url --no-annotate --custom-compile-command "make lock" --output-file requirements.lock

# the stamp comes last: what was broken off is done again from the start
$(VENV)/.installed: requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { \
	    echo "headrace needs Python 3.10 or newer, and $(PYTHON) is not. Name one: make setup PYTHON=python3.12" >&2; exit 4; }
	@echo "Installing into $(VENV) (two minutes the first time)" >&2
	@$(PYTHON) -m venv --clear $(VENV)
	@$(BIN)/pip install --quiet --require-hashes -r requirements.lock
	@$(BIN)/pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@
