# `make help` lists the targets.
.DEFAULT_GOAL := help
SHELL := /bin/bash

PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
BUF_VERSION := 1.75.0
BUF := build/tools/node_modules/.bin/buf
REDOCLY_VERSION := 1.34.5
REDOCLY := build/tools/redocly/node_modules/.bin/redocly
SCRIPTING := automation/mobiletest_automation/scripting
UV_VERSION := 0.13.8
# One more than cores, because tests also wait.
WORKERS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
# Tests start hundreds of processes of our own code: each would compile it again.
unexport PYTHONDONTWRITEBYTECODE

help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 16

run: venv proto ## Start all services on this machine, run the examples, serve until Ctrl-C
	$(BIN)/python -m deploy.local run $(ARGS)

test: venv proto ## Run the unit, contract, integration and end-to-end tests on embedded servers; T=PATH[::NAME] only some
	@$(if $(T),,echo "some 10,000 tests, 7 to 11 minutes on two cores")
	$(BIN)/pytest -n $(if $(findstring ::,$(T)),0,$(WORKERS)) --durations=20 --durations-min=2 \
		$(or $(T),tests/unit tests/contract tests/integration tests/e2e)

unit: venv proto ## Run the unit tests: no servers, no sockets, few examples of each property
	MOBILETEST_TEST_EXAMPLES=0.04 $(BIN)/pytest -n $(WORKERS) --dist worksteal tests/unit

drivers: venv proto ## Run the tests that use MongoDB's driver with the other one, PyMongo Async
	MOBILETEST_MONGO_DRIVER=pymongo $(BIN)/pytest -n $(WORKERS) --using mongo_driver tests/contract tests/integration

properties: venv proto ## Run the property tests with all their examples (`make test` tries a tenth)
	MOBILETEST_TEST_EXAMPLES=1 $(BIN)/pytest -n $(WORKERS) -m hypothesis tests/unit tests/contract

coverage: venv proto ## Measure which lines the unit, contract and integration tests run, and by which test
	$(BIN)/pytest -n $(WORKERS) --cov --cov-context=test --cov-report=html tests/unit tests/contract tests/integration
	@for part in services/{gateway,catalog,executor,reporting,chassis} automation/mobiletest_automation cli/mobiletest_cli; do \
		printf '%-20s %s %%\n' $$part "$$($(BIN)/coverage report --format=total --include="$$part/*")"; \
	done

check: lint types protos-check openapi-check ## Run all static checks: lint, types, protos-check, openapi-check

lint: venv proto ## Check style (ruff) and imports (import-linter)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-cache

types: venv proto ## Check types (mypy --strict)
	$(BIN)/mypy automation/mobiletest_automation services deploy examples benchmarks protos cli/mobiletest_cli tests/*.py tests/devices/fake_driver.py tests/fakes tests/deploy tests/images \
		tests/maestro tests/fault

protos-check: venv proto $(BUF) ## Check the protos: buf lint, and buf breaking against the released ones
	$(BUF) lint build/protos.binpb --config buf.yaml
	$(BUF) breaking build/protos.binpb --against protos/baseline.binpb --config buf.yaml

openapi-check: venv proto $(REDOCLY) ## Check the OpenAPI document: redocly lint
	$(BIN)/python -m services.gateway.openapi > build/openapi.json
	$(REDOCLY) lint build/openapi.json --config redocly.yaml

release-state: venv proto ## Record the state of the example workspace, on which the upgrade test starts later versions
	$(BIN)/python -m tests.fault.release

protos-release: venv proto ## Release the protos: buf breaking compares with these from now on
	$(BIN)/python protos/generate.py --baseline

api: venv proto ## Hold stack and OpenAPI document together: schemathesis, and clients that generators make
	PATH="$$PATH:$(dir $(GO))" $(BIN)/pytest tests/api

dashboard: venv proto ## Run the dashboard's tests in headless Chromium
	$(BIN)/pytest -n $(WORKERS) tests/dashboard

fault: venv proto ## Run the fault tests, which kill and stop services and servers (docs/faults.md)
	$(BIN)/pytest -n $(WORKERS) --dist loadgroup tests/fault

attack: venv proto ## Measure what one organisation can do to another (tests/attack)
	$(BIN)/pytest -n 0 tests/attack

bench: venv proto ## Run the benchmarks and print their table (docs/performance.md)
	$(BIN)/python -m benchmarks

format: venv ## Format the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

settings: venv proto ## Write docs/settings.md from the settings classes
	$(BIN)/python -m deploy.settings_reference > docs/settings.md

commands: venv proto ## Write the table of docs/maestro.md from the declarations of the commands
	$(BIN)/python -m deploy.commands_reference

examples: venv proto ## Record the examples of the API documentation from a running stack
	$(BIN)/python -m tests.reference

cli-types: venv proto ## Write the types of the command line from the OpenAPI document
	mkdir -p build && $(BIN)/python -m deploy.cli_types > build/cli-openapi.json
	$(BIN)/datamodel-codegen --input build/cli-openapi.json --input-file-type openapi --output cli/mobiletest_cli/api_types.py \
		--output-model-type typing.TypedDict --target-python-version 3.11 --use-standard-collections --use-union-operator \
		--enum-field-as-literal all --disable-timestamp --formatters builtin
	$(BIN)/ruff format -q cli/mobiletest_cli/api_types.py

vendor: venv ## Fetch the dashboard's files from npm packages and check their hashes
	$(BIN)/python -m deploy.vendored_files

lock: venv ## Resolve pyproject.toml into requirements.lock
	$(BIN)/pip install -q uv==$(UV_VERSION)
	$(BIN)/uv pip compile -q pyproject.toml --group build --group local --group dev --group bench \
		--generate-hashes --universal --no-header --no-annotate -o requirements.lock

venv: .venv/.ready ## Create the Python environment from the lock
.venv/.ready: requirements.lock
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=... ")'
	$(PYTHON) -m venv .venv
	$(BIN)/pip install -q --disable-pip-version-check --require-hashes -r requirements.lock
	printf '%s\n' "$(CURDIR)" "$(CURDIR)/gen" "$(CURDIR)/automation" > "$$($(BIN)/python -c 'import site; print(site.getsitepackages()[0])')/mobiletest.pth"
	touch $@

proto: gen/.ready gen/wheels/.ready ## Generate Python code from the protos, compile the script engine, build the command line
gen/.ready: .venv/.ready protos/generate.py $(SCRIPTING)/guest.py $(shell find protos -name '*.proto')
	$(BIN)/python protos/generate.py
	$(BIN)/python -m mobiletest_automation.scripting.guest
	touch $@

# The wheel of the command line, which the gateway serves.
gen/wheels/.ready: .venv/.ready cli/README.md cli/pyproject.toml $(shell find cli/mobiletest_cli automation/mobiletest_automation -name '*.py')
	rm -rf gen/wheels
	cd cli && ../$(BIN)/hatchling build --target wheel --directory ../gen/wheels >/dev/null
	touch $@

$(BUF):
	npm install --silent --no-fund --no-audit --prefix build/tools @bufbuild/buf@$(BUF_VERSION)

# In a folder of its own: npm removes from a folder what another call has installed there.
$(REDOCLY):
	npm install --silent --no-fund --no-audit --prefix build/tools/redocly @redocly/cli@$(REDOCLY_VERSION)

include deploy/deploy.mk

maestro: venv proto $(MAESTRO) ## Run small flows in Maestro itself and here, which must do the same (docs/maestro.md)
	$(BIN)/pytest -n 0 -q tests/maestro

tools: $(BUF) $(REDOCLY) $(AXE) $(APPIUM)/.ready $(MAESTRO) $(CLIENTS) $(TOOLS)/kustomize $(TOOLS)/docker-compose $(PROMTOOL) $(CI_LINTERS)
tools: ## Install the tools of all suites, each of which otherwise installs its own

clean: ## Remove generated files, but not the state of `make run`
	rm -rf .venv gen build .mypy_cache .ruff_cache .pytest_cache

.PHONY: help run test unit drivers properties coverage maestro dashboard vendor examples commands cli-types check lint types protos-check openapi-check protos-release release-state api fault attack bench format lock venv proto tools clean
