# Every target makes the environment that it needs first; see bin/setup. A second call finds it ready.
.DEFAULT_GOAL := help
.PHONY: help install run test test-all lint prose types client check format docs screenshots lock fuzz fuzz-api races race-faults mutants rights faults bench bench-queue bench-portal bench-gpu test-gpu clean

PY := .venv/bin/python
N ?= 100000
T ?=
PORT ?= 8000
DATA ?=
DIR ?= build/screenshots

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

install: ## install what the command needs, and start nothing
	@bin/setup run

run: ## install, then run everything on this machine with a demo course, until Ctrl-C (PORT=8000 DATA=folder)
	@bin/setup run
	@exec .venv/bin/tilelab up --demo --port $(PORT) $(if $(DATA),--data "$(DATA)")

# Hundreds of processes start here; none may compile all sources again. The tests of a file share what they start, so
# they run in one process, and tests/conftest.py says which come first.
PYTEST := PYTHONDONTWRITEBYTECODE= $(PY) -m pytest -n auto --dist loadfile --no-loadscope-reorder

test: ## the short suite, a few minutes (T=path or T="-k word" for some of it)
	@bin/setup dev
	@$(PYTEST) -m "not long" $(T)

test-all: ## every test that this machine can run (T=path or T="-k word" for some of them)
	@bin/setup dev
	@$(PYTEST) $(T)

lint: ## ruff: rules and formatting; import-linter: which room may import which; all texts follow bin/prose.toml
	@bin/setup dev
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check .
	@.venv/bin/lint-imports --no-cache --no-logo
	@$(PY) -m bin.prose --brief

prose: ## what people read, against the style in bin/prose.toml (T=docs/students.md for some of it)
	@bin/setup dev
	@$(PY) -m bin.prose $(T)

types: ## mypy, strict, and the types of the portal's scripts
	@bin/setup dev
	@$(PY) -m mypy
	@$(PY) -m bin.client types

client: ## build the portal's scripts from server/web/client into server/web/static/build
	@bin/setup dev
	@$(PY) -m bin.client build

check: lint types test ## lint, types and tests, as CI does

format: ## let ruff format and repair what it can
	@bin/setup dev
	@$(PY) -m ruff check --fix-only --quiet .
	@$(PY) -m ruff format .

docs: ## update the command output that README.md and docs/ show
	@bin/setup dev
	@$(PY) bin/documented_output.py

screenshots: ## pictures of every page of the portal, wide and narrow, light and dark (DIR=folder, T="--only name")
	@bin/setup dev
	@$(PY) -m tests.browser.screenshots $(DIR) $(T)

lock: ## update the lock files to the newest releases that pyproject.toml allows
	@bin/setup lock
	@.venv-lock/bin/python bin/lock.py

fuzz: ## grade N mutated sources and PTX texts (N=100000): no crash, no hang
	@bin/setup dev
	@$(PY) -m tests.fuzz $(N)

fuzz-api: ## make up N requests from the API's own description (N=20000): no violation of it, no fault
	@bin/setup dev
	@$(PY) -m tests.fuzz_api $(if $(filter command line environment,$(origin N)),$(N)) $(T)

races: ## judge N generated kernels (N=20000) by the CPU device and by an oracle for data races (SEED=0)
	@bin/setup dev
	@$(PY) -m tests.races $(if $(filter command line environment,$(origin N)),$(N)) $(if $(SEED),--seed $(SEED)) $(T)

race-faults: ## put known faults into the race detection: the short run of `races` must find each (T="--search 2000")
	@bin/setup dev
	@$(PY) -m tests.races.faults $(T)

mutants: ## put one-line faults into a copy of the tree, one at a time: the short suite must notice (T="--only queue:")
	@bin/setup dev
	@$(PY) -m tests.mutants $(T)

rights: ## try N random acts of staff, students and strangers (N=20000): no one gets the data of others (T="--seed 7")
	@bin/setup dev
	@$(PY) -m tests.rights $(if $(filter command line environment,$(origin N)),$(N)) $(T)

faults: ## submit 500 kernels while parts are killed 300 times: nothing may be lost (T="--seed 1 --submissions 100")
	@bin/setup dev
	@$(PY) -m tests.faults $(T)

bench: ## speed of the CPU device and of a whole `tilelab grade`, against Numba's simulator and numpy
	@bin/setup bench
	@.venv-bench/bin/python -m bench

bench-queue: ## what the queue costs and how fair it is, compared with bare Celery (T="fairness --quick" for a part)
	@bin/setup dev
	@$(PY) -m bench.queue $(T)

bench-portal: ## the portal's load limits: submissions a second, pages at a million submissions, streams (T="pages --quick" for a part)
	@bin/setup dev
	@$(PY) -m bench.portal $(T)

bench-gpu: ## measure how reliable a GPU's figures are, and write docs/gpu-measurements.md (T="backlog --gpus 0,1" for a part)
	@bin/setup gpu
	@$(PY) -m bench.gpu $(T)

test-gpu: ## compare results, counts, races and occupancy with the GPU of this machine
	@bin/setup dev
	@bin/setup gpu
	@$(PY) -m tests.gpu

clean: ## remove the environments and everything that tools leave behind
	rm -rf .venv .venv-* *.egg-info build dist server/web/client/node_modules tests/browser/node_modules .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
