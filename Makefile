# Every target makes the virtual environment and installs what it needs by itself:
# a machine with python3 (3.11 or later), git and make is enough.

VENV    ?= .venv
WORKERS ?= 2
MINUTES ?= 5
# Further arguments for the tool behind a target: make test ARGS="tests/filter -x"
ARGS    ?=

# Tests start hundreds of interpreters: none of them is to compile the package anew.
unexport PYTHONDONTWRITEBYTECODE

BIN       := $(VENV)/bin
INSTALLED := $(VENV)/.installed
ADAPTERS  := $(VENV)-adapters

# make demo ENGINES=chroma,duckdb: these only, with no more installed than they take.
ENGINES ?=
comma := ,
space := $(subst ,, )
ASKED := $(sort $(subst $(comma), ,$(ENGINES)))
# What it has not here needs nothing (sqlite), or is told by the command.
EXTRAS_OF := postgres=pgvector-embedded qdrant=qdrant milvus=milvus-embedded duckdb=duckdb \
	chroma=chroma lancedb=lancedb redis=redis-embedded weaviate=weaviate pinecone=pinecone
DEMO_EXTRAS := cli wordllama $(foreach name,$(or $(ASKED),postgres qdrant milvus duckdb chroma),\
	$(patsubst $(name)=%,%,$(filter $(name)=%,$(EXTRAS_OF))))
FOR_DEMO := $(VENV)/.installed-for-demo$(if $(ASKED),-$(subst $(space),-,$(strip $(DEMO_EXTRAS))))

# Where interpreters are looked for. `make PYTHON=/path/to/python3 …` names one instead.
PYENV      := $(wildcard $(HOME)/.pyenv/versions/*/bin/python3)
VERSIONED  := python3.11 python3.12 python3.13 python3.14 python3.15
CANDIDATES := $(or $(PYTHON),python3 python3.13 python3.12 python3.11 python3.14 python3.15 $(PYENV))
# Prints "3.x" when the interpreter is new enough and able to make virtual environments.
VERSION_OF := import ensurepip, sys, venv; sys.version_info < (3, 11) and sys.exit(1); \
	sys.implementation.name == "cpython" or sys.exit(1); print("%d.%d" % sys.version_info[:2])

.DEFAULT_GOAL := help
.PHONY: help demo test test-wide test-servers test-adapters test-browser test-heavy test-all lint format types grammar docs bench fuzz clean

help: ## This list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

demo: $(FOR_DEMO) ## The main job on real input: index, search, filter, compare with PostgreSQL
	$(BIN)/vecstore demo $(if $(ASKED),--engines "$(ASKED)") $(ARGS)

test: $(INSTALLED) ## Tests and doctests, without the long ones
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile -m "not heavy" --doctest-modules \
	  --ignore vecstore/adapters $(or $(ARGS),vecstore tests)

test-wide: $(INSTALLED) ## Every suite whole, on every engine, metric and option
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadscope -m "wide and not servers" $(or $(ARGS),tests)

# WITHIN=20: what is not built after so many minutes is skipped, and what was compiled is kept.
test-servers: $(INSTALLED) ## What needs a real server; builds it with Go the first time
	@$(BIN)/python -m tests.engines.weaviate_server $(if $(WITHIN),--within $(WITHIN)) || \
	  { echo "make test-servers: no Weaviate, so its tests are skipped"; exit 0; } && \
	$(BIN)/python -m pytest -m "servers and not long" $(or $(ARGS),tests)

test-adapters: $(ADAPTERS)/.installed ## The adapters and importers, beside the frameworks themselves
	HAYSTACK_TELEMETRY_ENABLED=false $(ADAPTERS)/bin/python -m pytest -m "not heavy" --doctest-modules \
	  -p no:langsmith_plugin -o asyncio_default_fixture_loop_scope=function \
	  $(or $(ARGS),vecstore/adapters tests/adapters tests/interop)

# Without them its tests are skipped. Debian: apt-get install chromium chromium-driver npm
test-browser: $(VENV)/.installed-for-browser ## The site's pages and the playground in a real browser
	$(BIN)/python -m pytest -m browser $(or $(ARGS),tests/browser)

test-heavy: $(INSTALLED) ## All that `make test` leaves out; the long figures take hours
	@$(BIN)/python -m tests.engines.weaviate_server --former || echo "make test-heavy: without it"
	HYPOTHESIS_PROFILE=heavy $(BIN)/python -m pytest -m heavy --timeout 3600 $(or $(ARGS),tests)

test-all: ## `make test` on every CPython from 3.11 on that this machine has
	@seen=; failed=; \
	for candidate in $(VERSIONED) $(PYENV) python3; do \
	  version=$$("$$candidate" -c '$(VERSION_OF)' 2>/dev/null) || continue; \
	  case " $$seen " in *" $$version "*) continue ;; esac; \
	  seen="$$seen $$version"; \
	  echo "== Python $$version"; \
	  $(MAKE) --no-print-directory test PYTHON="$$candidate" VENV=".venv-$$version" || failed="$$failed $$version"; \
	done; \
	test -n "$$seen" || { echo "No CPython 3.11 or later was found."; exit 1; }; \
	echo "== Tested on:$$seen. Failed on:$${failed:- none}"; \
	test -z "$$failed"

lint: $(INSTALLED) ## ruff: rules and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(INSTALLED) ## Let ruff mend what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: $(INSTALLED) ## mypy, strict, on the package
	$(BIN)/mypy $(ARGS)

grammar: $(INSTALLED) ## Write the parser's tables anew from vecstore/grammar/filter.lark
	$(BIN)/python -m tools.grammar_tables $(ARGS)

# With npm, Python for browsers is fetched for the playground, once; without it, the page says what to run.
docs: $(INSTALLED) ## The documentation site, into site/
	$(BIN)/mkdocs build --strict

# Peers join when they are installed: .venv/bin/python -m pip install --group bench
# Two variables that choose or trim OpenBLAS kernels would measure another library than users run.
bench: $(INSTALLED) ## Benchmarks, printed as ratios within one run; ARGS="--quick" takes two minutes
	env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE $(BIN)/python -m benchmarks $(ARGS)

fuzz: $(INSTALLED) ## Random filters on every engine for MINUTES=5; prints the seed
	$(BIN)/python -m tests.fuzz --minutes $(MINUTES) $(ARGS)

clean: ## Remove what builds and tools left behind (the environments stay)
	rm -rf build dist site .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find vecstore tests benchmarks examples -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

$(BIN)/python:
	@for candidate in $(CANDIDATES); do \
	  version=$$("$$candidate" -c '$(VERSION_OF)' 2>/dev/null) || continue; \
	  echo "Making $(VENV) with Python $$version"; \
	  "$$candidate" -m venv $(VENV) && exit 0; \
	  rm -rf $(VENV); exit 1; \
	done; \
	echo "vecstore needs CPython 3.11 or later, with its venv and ensurepip modules; none of these is one:"; \
	echo "  $(CANDIDATES)"; \
	echo "Install one (Debian and Ubuntu: python3 and python3-venv), or name it: make PYTHON=/path/to/python3"; \
	exit 1

# Two thirds of it, or less, without the tools. `python -m pip` of any age will do.
$(FOR_DEMO): pyproject.toml | $(BIN)/python
	@test $(INSTALLED) -nt pyproject.toml || { \
	  echo "Installing what the demo needs into $(VENV) (about a minute the first time)"; \
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$(subst $(space),$(comma),$(strip $(DEMO_EXTRAS)))]'; \
	}
	@touch $@

# An environment that is already there is kept, and installed on top of.
# pip knows dependency groups from 25.1 on, later than what many a Python brings along.
$(INSTALLED): pyproject.toml | $(BIN)/python
	@echo "Installing into $(VENV) (a minute or two the first time)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[all,testing]' --group dev
	@touch $@

$(VENV)/.installed-for-browser: $(INSTALLED)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --group browser
	@touch $@

# The frameworks bring plug-ins into every run of pytest, so they stand apart; what $(VENV) has is
# read from there.
$(ADAPTERS)/.installed: $(INSTALLED)
	@echo "Installing the frameworks of the adapters into $(ADAPTERS) (two minutes the first time)"
	@$(BIN)/python -m venv --without-pip $(ADAPTERS)
	@$(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))' > \
	  "$$($(ADAPTERS)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/base.pth"
	@$(ADAPTERS)/bin/python -m pip install --quiet --disable-pip-version-check --group frameworks
	@touch $@
