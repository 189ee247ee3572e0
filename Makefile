# `make demo` and `make test` are all a newcomer needs; both set up `.venv` first, once.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
TORCH ?= $(shell grep '^torch==' constraints.txt)
PIP = "$(BIN)/python" -m pip install --quiet --disable-pip-version-check
# One thread a process: the tests run as many processes as there are cores.
ENV = OMP_NUM_THREADS=1 MKL_NUM_THREADS=1

.PHONY: help demo test test-hostile test-browser docs results coverage lock wheel lint format clean
.DEFAULT_GOAL := help

help:
	@echo "make demo   set up, simulate, fit, compare with the truth"
	@echo "make test   set up, check style and types, run the tests"
	@echo "make test-hostile   every hostile input, signal and kill (half an hour)"
	@echo "make test-browser   open the report in headless Chromium (Debian: installs it)"
	@echo "make docs   build the documentation site into docs/_build/html"
	@echo "make results   run again what the tables of docs/results.md are made of (hours; resumable)"
	@echo "make coverage   which lines the tests run"
	@echo "make wheel   build, install into an empty environment, and try"
	@echo "make lock   write requirements.lock from the environment"
	@echo "make lint   style, types and import layers only"
	@echo "make clean  remove the environment and what the demo wrote"

demo: $(VENV)/.runtime
	"$(BIN)/ucad" demo

test: lint
	$(ENV) "$(BIN)/python" -m pytest -n auto

test-hostile: $(VENV)/.dev
	$(ENV) "$(BIN)/python" -m pytest tests/hostile -n auto -m ""

test-browser: $(VENV)/.dev
	$(ENV) PYTHON="$(BIN)/python" scripts/test-browser

# From nothing, so that no page of an earlier build is left; a warning ends it.
docs: $(VENV)/.docs
	rm -rf docs/_build docs/tutorials docs/sg_execution_times.rst
	$(ENV) "$(BIN)/sphinx-build" -W --keep-going -q -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

# Rows that are there are kept, so that the same command goes on after whatever stopped it.
results: $(VENV)/.dev
	$(ENV) "$(BIN)/python" -m experiments.results

coverage: $(VENV)/.dev
	$(ENV) "$(BIN)/python" -m pytest -n auto --cov --cov-report=term:skip-covered --cov-report=html

lock: $(VENV)/.dev
	PYTHON="$(BIN)/python" scripts/make-lock

wheel:
	PYTHON="$(PYTHON)" scripts/test-wheel

lint: $(VENV)/.dev
	"$(BIN)/ruff" check .
	"$(BIN)/ruff" format --check .
	"$(BIN)/mypy"
	"$(BIN)/lint-imports" --no-cache

format: $(VENV)/.dev
	"$(BIN)/ruff" check --fix .
	"$(BIN)/ruff" format .

# torch first and alone, so that nothing else decides which build is taken; then the rest around it.
$(VENV)/.torch: constraints.txt
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "ucad needs Python 3.11 or newer; set PYTHON=/path/to/python3.11"; exit 1; }
	"$(PYTHON)" -m venv "$(VENV)"
	$(PIP) "$(TORCH)"
	$(PIP) --constraint constraints.txt hatchling editables
	@touch "$@"

$(VENV)/.runtime: $(VENV)/.torch pyproject.toml
	$(PIP) --constraint constraints.txt --no-build-isolation --editable ".[plot]"
	@touch "$@"

$(VENV)/.dev: $(VENV)/.runtime
	$(PIP) --constraint constraints.txt --no-build-isolation --editable ".[dev]"
	@touch "$@"

$(VENV)/.docs: $(VENV)/.runtime
	$(PIP) --constraint constraints.txt --no-build-isolation --editable ".[docs]"
	@touch "$@"

clean:
	rm -rf "$(VENV)" demo docs/_build docs/tutorials
