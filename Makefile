# Every target works in a fresh clone: it first makes .venv with the development tools, and does
# so again only when pyproject.toml changes. Needs python3 (3.11 or newer), make and a package index.

SHELL := /bin/bash -euo pipefail
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
JOBS ?= auto

.PHONY: help demo test check check-pyright check-mypy check-shape check-layers check-style servers format docs bench bench-peers bench-docs clean

help: ## Show this list.
	@awk 'BEGIN { FS = ":.*## " } /^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(READY) ## Run a worker, a scheduler and sample jobs on a SQLite file; ends by itself.
	@$(BIN)/python examples/demo/demo.py

test: check servers ## Run all checks and all tests; what CI runs.
	$(BIN)/pytest -q -n $(JOBS) --ignore=tests/test_shape.py # which `check` has run

# The two that take longest begin, beside each other.
check: $(READY) ## Lint, format, types, layers and shape; no behaviour.
	@$(MAKE) --no-print-directory -j 2 check-pyright check-mypy check-shape check-layers check-style

check-pyright:
	$(BIN)/pyright --pythonpath $(BIN)/python

check-mypy:
	$(BIN)/mypy

check-shape:
	$(BIN)/pytest -q tests/test_shape.py

check-layers:
	$(BIN)/lint-imports

check-style:
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

servers: ## Install the servers that tests start for themselves, where that can be done.
	@PATH="$$PATH:/usr/sbin:$$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | paste -sd:)"; missing=; \
	for pair in redis-server:redis-server initdb:postgresql mariadbd:mariadb-server pgbouncer:pgbouncer; do \
	  command -v $${pair%%:*} >/dev/null || missing="$$missing $${pair##*:}"; done; \
	[ -z "$$missing" ] || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -qq && \
	  DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends $$missing; } || \
	  echo "make: not here:$$missing. The tests that need them will be skipped; install them to run those" >&2
	@$(PYTHON) tests/drivers/postgres/fetch_oldest.py

format: $(READY) ## Let ruff fix and format everything.
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(READY) ## Write docs/reference/ from the code.
	@$(BIN)/python tests/docs/reference.py

bench: $(READY) ## Measure ours beside the raw stores, in minutes; figures go to benchmarks/results/.
	$(BIN)/python -m benchmarks.run

bench-peers: $(READY) ## Measure ours beside other queues, in an hour or so; they are installed first.
	$(BIN)/python -m benchmarks.run_peers

bench-docs: $(READY) ## Write docs/benchmarks/ from the newest figures of both.
	$(BIN)/python -m benchmarks.publish

clean: ## Remove the virtual environment and every cache.
	rm -rf $(VENV) .servers benchmarks/.peers .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "make: Oxmill needs Python 3.11 or newer as '$(PYTHON)'; set PYTHON=/path/to/python3.11" >&2; exit 1; }
	@echo "Making $(VENV) with the development tools (about a minute, once) ..."
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable . --group dev
	@touch $@
