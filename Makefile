# Needs Python 3.11+ and make, nothing else: everything is installed into .venv.
#   make test ARGS="tests/test_counts.py -x"     passes ARGS on (also demo, bench)
#   make test PYTHON=python3.12                  another Python for .venv (after `make clean`)

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --quiet --disable-pip-version-check

# A stamp says that a set of requirements is installed; only pyproject.toml makes it stale.
CORE := $(VENV)/.stamp-core
TEST := $(VENV)/.stamp-test
DEV  := $(VENV)/.stamp-dev

.DEFAULT_GOAL := help
.PHONY: help demo test lint bench format clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(CORE) ## Exact, naive and corrected metrics side by side, on synthetic data
	$(BIN)/truerank demo $(ARGS)

test: $(TEST) ## Run the tests, on two processes
	$(BIN)/pytest -n 2 --dist worksteal $(ARGS)

lint: $(DEV) ## Check style, types and import rules
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(TEST) ## Run the benchmarks
	$(BIN)/python -m benchmarks $(ARGS)

format: $(DEV) ## Mend style where ruff can
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

clean: ## Remove .venv, builds and caches
	rm -rf $(VENV) build dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(CORE): requirements := .
$(TEST): requirements := .[test]
$(DEV):  requirements := .[test,dev]

$(CORE) $(TEST) $(DEV): pyproject.toml | $(BIN)/pip
	$(PIP) install --editable '$(requirements)'
	@touch $@

# pip, not python: it is the last thing venv makes, so a broken start is begun again.
$(BIN)/pip:
	$(PYTHON) -m venv $(VENV)
