# Needs Python 3.11+ and make, nothing else: everything is installed into .venv.
#   make test ARGS="tests/test_counts.py -x"     passes ARGS on (also demo, bench)
#   make test PYTHON=python3.12                  another Python for .venv (after `make clean`)

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --quiet --disable-pip-version-check

# A stamp says that a set of requirements is installed; only a pyproject.toml makes it stale.
CORE := $(VENV)/.stamp-core
TEST := $(VENV)/.stamp-test
DEV  := $(VENV)/.stamp-dev
DOCS := $(VENV)/.stamp-docs
BENCH := $(VENV)/.stamp-bench
SPARK := $(VENV)/.stamp-spark
PAPERS := $(VENV)/.stamp-papers

# Where `make reproduce` finds the datasets of the papers: a folder each, by name.
DATA ?= ../shared/data

# Spark (400 MB) is installed and tested where there is a Java to run it.
JAVA := $(shell sh -c 'command -v java')

# Reports are tested in a browser: Debian's, installed where we may, else the tests are skipped.
CHROMIUM := $(shell sh -c 'command -v chromium || command -v chromium-browser || command -v google-chrome')

# Each library that we adapt to in an environment of its own: their pins conflict.
# pyarrow 26 needs numpy 2 and does not say so to pip.
ADAPTERS  := .venv-adapters
LIBRARIES := cornac implicit lenskit pykeen ranx recbole rectools torch
PEERS     := implicit lenskit ranx recbole rectools
cornac    := cornac
implicit  := implicit
lenskit   := lenskit torch==2.13.0
pykeen    := pykeen torch==2.13.0
ranx      := ranx
recbole   := recbole torch==2.13.0 'numpy<2' 'pyarrow<26' 'pandas<3' 'scipy<1.13' 'setuptools<81'
rectools  := 'rectools[lightfm]' torch==2.13.0 pytorch-lightning 'pyarrow<26'
torch     := torch==2.13.0

# Tools that we work inside of, each with a test and in an environment of its own.
INTEGRATIONS := keras lightning mlflow tensorboard torchmetrics wandb
keras        := keras torch==2.13.0
lightning    := lightning torch==2.13.0
mlflow       := mlflow jinja2
tensorboard  := tensorboard torch==2.13.0
torchmetrics := torchmetrics torch==2.13.0
wandb        := wandb

.DEFAULT_GOAL := help
.PHONY: help demo test fuzz lint docs notebooks bench frontier calibrate reproduce release-check adapters integrations peers format clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(CORE) ## Exact, naive and corrected metrics side by side, on synthetic data
	$(BIN)/truerank demo $(ARGS)

test: $(TEST) $(if $(JAVA),$(SPARK)) $(if $(CHROMIUM),,chromium) ## Run the tests, on two processes; those of Spark if there is a Java
	$(if $(JAVA),,@echo "Spark is not tested: there is no java on the PATH (apt-get install openjdk-17-jre-headless)")
	$(BIN)/pytest -n 2 --dist worksteal $(ARGS)

.PHONY: chromium
chromium:
	@if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
	  && { apt-get -qq update && apt-get -qq install --yes --no-install-recommends chromium; } >/dev/null 2>&1; \
	then echo "Installed chromium, for the tests of reports"; \
	else echo "Reports are not tested in a browser: there is no chromium on the PATH (apt-get install chromium)"; fi

fuzz: $(TEST) ## Fuzz for long: FUZZ inputs for each fuzzer, 20,000 unless stated
	TRUERANK_FUZZ=$(or $(FUZZ),20000) $(BIN)/pytest -n 2 --dist worksteal tests/fuzz $(ARGS)

lint: $(DEV) ## Check style, types, import rules and docstrings
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m tests.docstrings
	$(BIN)/codespell README.md CHANGELOG.md CONTRIBUTING.md docs src papers/src tests benchmarks examples

docs: $(DOCS) ## Build the documentation into build/site, strictly
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

notebooks: $(DOCS) ## Execute the notebooks of examples/ again, in place
	$(BIN)/python examples/execute.py

bench: $(TEST) ## Run the benchmarks
	$(BIN)/python -m benchmarks $(ARGS)

frontier: $(BENCH) ## Error against cost of all estimators and designs (takes a while)
	$(BIN)/python -m benchmarks.frontier $(ARGS)

calibrate: $(BENCH) ## Redraw real evaluations and see how often intervals cover (hours)
	$(BIN)/python -m benchmarks.calibrate --write docs/calibration.md $(ARGS)

reproduce: $(PAPERS) ## The papers' tables beside the published numbers, into docs/reproduction
	$(BIN)/truerank reproduce all --data $(DATA) --output docs/reproduction --cache .cache/reproduce $(ARGS)

release-check: ## Build wheel and sdist, and try them in empty environments
	.ci/release-check

adapters: $(LIBRARIES:%=adapter-%) ## Try the adapters to other libraries (make adapter-cornac: one)

integrations: $(INTEGRATIONS:%=integration-%) ## Try truerank inside other tools (make integration-mlflow: one)

peers: $(PEERS:%=peer-%) ## Time other libraries against ours, and write docs/peers.md
	$(ADAPTERS)/$(firstword $(PEERS))/bin/python -m benchmarks.peers.page $(PEERS:%=$(ADAPTERS)/%/peers.json) --write docs/peers.md

format: $(DEV) ## Mend style where ruff can
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

clean: ## Remove .venv, builds and caches
	rm -rf $(VENV) $(ADAPTERS) build dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(CORE): requirements := .
$(TEST): requirements := .[test]
$(DEV):  requirements := .[test,dev]
$(DOCS): requirements := .[docs]
$(BENCH): requirements := .[test,plot]
$(SPARK): requirements := .[test,spark]
$(PAPERS): requirements := .[fast,models,plot,report]

$(BENCH): more := implicit
$(PAPERS): more := torch==2.13.0 --editable ./papers

# Tests and checks take the papers without what only their models need: torch alone is 700 MB.
$(TEST) $(DEV) $(SPARK): papers := yes

$(CORE) $(TEST) $(DEV) $(DOCS) $(BENCH) $(SPARK) $(PAPERS): pyproject.toml papers/pyproject.toml | $(BIN)/pip
	$(PIP) install --editable '$(requirements)' $(more)
	$(if $(papers),$(PIP) install --no-deps --editable ./papers)
	@touch $@

# pip, not python: it is the last thing venv makes, so a broken start is begun again.
$(BIN)/pip:
	$(PYTHON) -m venv $(VENV)

.PHONY: $(INTEGRATIONS:%=integration-%)
$(INTEGRATIONS:%=integration-%): integration-%: $(ADAPTERS)/%/.stamp
	KERAS_BACKEND=torch $(ADAPTERS)/$*/bin/python -m pytest tests/integrations/test_$*.py $(if $(filter torchmetrics,$*),tests/integrations/test_torch_gather.py) tests/test_face.py $(foreach page,$(shell grep -l 'run with $* ' docs/how-to/*.md),'tests/test_docs.py::test_blocks_run[$(basename $(notdir $(page)))]') -k 'test_$* or integrations.$* or gather or blocks_run' $(ARGS)

.PHONY: $(LIBRARIES:%=adapter-%) $(PEERS:%=peer-%)
$(LIBRARIES:%=adapter-%): adapter-%: $(ADAPTERS)/%/.stamp
	$(ADAPTERS)/$*/bin/python -m pytest $(wildcard tests/adapters/test_$*.py tests/scoring/test_$*.py papers/tests/models/test_$*_models.py) $(if $(filter $*,$(PEERS)),tests/adapters/test_peers.py) $(if $(filter recbole,$*),tests/evaluation/test_several_targets.py) $(if $(wildcard docs/how-to/$*.md),'tests/test_docs.py::test_blocks_run[$*]') $(if $(wildcard src/truerank/scoring/adapters/$*.py),'tests/test_face.py::test_examples_run[truerank.scoring.adapters.from_$*]') $(ARGS)

$(PEERS:%=peer-%): peer-%: $(ADAPTERS)/%/.stamp
	$(ADAPTERS)/$*/bin/python -m benchmarks peers --write $(ADAPTERS)/$*/peers.json

$(sort $(LIBRARIES:%=$(ADAPTERS)/%/.stamp) $(INTEGRATIONS:%=$(ADAPTERS)/%/.stamp)): $(ADAPTERS)/%/.stamp: pyproject.toml papers/pyproject.toml
	$(PYTHON) -m venv $(ADAPTERS)/$*
	$(ADAPTERS)/$*/bin/python -m pip --quiet --disable-pip-version-check install $($*) hypothesis pandas pytest --editable '.[fast]'
	$(ADAPTERS)/$*/bin/python -m pip --quiet --disable-pip-version-check install --no-deps --editable ./papers
	@touch $@
