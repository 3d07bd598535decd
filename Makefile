# Every target first creates the environment that it needs, see bin/setup. A second call finds it ready.
.DEFAULT_GOAL := help
.PHONY: help install run test test-all lint prose types client check format docs pictures screenshots lock fuzz fuzz-api audit sbom advisories licences races race-faults cheats mutants rights golden page-costs faults hosts alerts bench bench-queue bench-portal bench-gpu test-gpu clean

PY := .venv/bin/python
N ?= 100000
T ?=
PORT ?= 8000
DATA ?=
DIR ?= build/screenshots

help: ## list all targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

install: ## install the command; starts nothing
	@bin/setup run

run: ## install, then run Tilelab with a demo course on this machine until Ctrl-C (PORT=8000 DATA=folder)
	@bin/setup run
	@exec .venv/bin/tilelab up --demo --port $(PORT) $(if $(DATA),--data "$(DATA)")

# The tests start hundreds of processes. They write bytecode, so that not every process compiles all sources again. The
# tests of a file run in one process, because they share what they start. The order of the files is in tests/conftest.py.
PYTEST := PYTHONDONTWRITEBYTECODE= $(PY) -m pytest -n auto --dist loadfile --no-loadscope-reorder

test: ## run the short suite, a few minutes (T=path or T="-k word" for a part)
	@bin/setup dev
	@$(PYTEST) -m "not long" $(T)

test-all: ## run every test that this machine can run (T=path or T="-k word" for a part)
	@bin/setup dev
	@$(PYTEST) $(T)

lint: ## check ruff's rules and formatting, imports between packages, and texts; changes nothing
	@bin/setup dev
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check .
	@.venv/bin/lint-imports --no-cache --no-logo
	@$(PY) -m bin.prose --brief

prose: ## check texts against bin/prose.toml, and show their reading ease (T=docs/students.md for a part)
	@bin/setup dev
	@$(PY) -m bin.prose $(T)

types: ## check the types of Python code and of the portal's scripts, both strictly
	@bin/setup dev
	@$(PY) -m mypy
	@$(PY) -m bin.client types

client: ## build the portal's scripts into server/web/static/build
	@bin/setup dev
	@$(PY) -m bin.client build

check: lint types test ## run lint, types and test, as CI does

format: ## format the code, and repair what ruff can repair
	@bin/setup dev
	@$(PY) -m ruff check --fix-only --quiet .
	@$(PY) -m ruff format .

docs: ## update the command output in README.md and docs/
	@bin/setup dev
	@$(PY) bin/documented_output.py

pictures: ## draw the pictures of experiments in docs/ (MEASURED=folder with a GPU's results of the templates)
	@bin/setup dev
	@$(PY) -m bin.experiment_pictures $(MEASURED)

screenshots: ## take pictures of the portal's pages, wide and narrow, light and dark (DIR=folder T="--only name")
	@bin/setup dev
	@$(PY) -m tests.browser.screenshots $(DIR) $(T)

lock: ## update the lock files to the newest releases that pyproject.toml allows
	@bin/setup lock
	@.venv-lock/bin/python bin/lock.py

audit: ## compare the lock files with recorded vulnerabilities and licences; needs no network
	@bin/setup dev
	@$(PY) -m bin.supply audit

sbom: ## write a bill of materials (CycloneDX) for each set of packages (DIR=folder)
	@bin/setup dev
	@$(PY) -m bin.supply sbom $(if $(filter command line environment,$(origin DIR)),$(DIR),build/sbom)

advisories: ## record the vulnerabilities of locked packages (CLONES="folders of advisory databases")
	@bin/setup dev
	@$(PY) -m bin.supply advisories $(CLONES)

licences: ## record the licences of locked packages; downloads about 1 GB
	@bin/setup dev
	@$(PY) -m bin.supply licences

fuzz: ## grade N mutated sources and PTX texts; none may crash or hang (N=100000)
	@bin/setup dev
	@$(PY) -m tests.fuzz $(N)

fuzz-api: ## send N random requests that the API's description allows; every answer must match it (N=20000)
	@bin/setup dev
	@$(PY) -m tests.fuzz_api $(if $(filter command line environment,$(origin N)),$(N)) $(T)

races: ## judge N generated kernels by the CPU device and by an oracle for data races (N=20000 SEED=0)
	@bin/setup dev
	@OPENBLAS_NUM_THREADS=1 $(PY) -m tests.races $(if $(filter command line environment,$(origin N)),$(N)) $(if $(SEED),--seed $(SEED)) $(T)

race-faults: ## put known faults into the race detection; a short run of `races` must find each (T="--search 2000")
	@bin/setup dev
	@$(PY) -m tests.races.faults $(T)

cheats: ## try every published class of cheats; none may succeed
	@bin/setup dev
	@$(PY) -m tests.cheats -n auto --dist loadfile

mutants: ## put one-line faults into a copy of the code; the short suite must find each (T="--only queue:")
	@bin/setup dev
	@$(PY) -m tests.mutants $(T)

rights: ## try N random actions; no person may reach the data of others (N=20000 T="--seed 7")
	@bin/setup dev
	@$(PY) -m tests.rights $(if $(filter command line environment,$(origin N)),$(N)) $(T)

golden: ## write down what users can see of the server, to compare two versions (DIR=folder T="--database postgresql")
	@bin/setup dev
	@$(PY) -m tests.golden record $(if $(filter command line environment,$(origin DIR)),$(DIR),build/golden) $(T)

page-costs: ## measure the processor time of pages with N hostile texts; none may take 0.5 s (N=5000)
	@bin/setup dev
	@$(PY) -m tests.page_costs $(if $(filter command line environment,$(origin N)),$(N)) $(T)

faults: ## submit 500 kernels while parts are killed 300 times; nothing may get lost (T="--seed 1 --submissions 100")
	@bin/setup dev
	@$(PY) -m tests.faults $(T)

hosts: ## run the units of deploy/ on three hosts with their own networks; cut one off, and steal its address
	@bin/setup dev
	@unshare -Urn sh -c 'ip link set lo up && exec $(PY) -m pytest -q tests/server/deploy/test_hosts.py'

alerts: ## provoke each failure that an alert is for, and record what Prometheus reads meanwhile
	@bin/setup dev
	@$(PY) -m tests.alerts

bench: ## measure the CPU device and `tilelab grade`, compared with Numba's simulator and numpy
	@bin/setup bench
	@.venv-bench/bin/python -m bench

bench-queue: ## measure the queue's cost and fairness, compared with bare Celery (T="fairness --quick" for a part)
	@bin/setup dev
	@$(PY) -m bench.queue $(T)

bench-portal: ## measure the portal under load (T="pages --quick" for a part)
	@bin/setup dev
	@$(PY) -m bench.portal $(T)

bench-gpu: ## measure with this machine's GPU, and write docs/gpu-measurements.md (T="backlog --gpus 0,1" for a part)
	@bin/setup gpu
	@$(PY) -m bench.gpu $(T)

test-gpu: ## compare results, counts, races and occupancy with this machine's GPU (T="--only gpu-tensor-counters" for a page)
	@bin/setup dev
	@bin/setup gpu
	@$(PY) -m tests.gpu $(T)

clean: ## remove the environments and all files that tools leave behind
	rm -rf .venv .venv-* *.egg-info build dist server/web/client/node_modules tests/browser/node_modules .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
