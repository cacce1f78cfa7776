# `make` shows the index. Every target sets up what it needs, once: a Python environment, the jars.

SHELL       := bash
.SHELLFLAGS := -eu -o pipefail -c
MAKEFLAGS   += --no-print-directory

VENV    ?= .venv
PEER    := .venv-pypaimon
SPARK_PEERS := .venv-spark-peers
REDIS   := .redis
PLAYWRIGHT := .playwright
PYICEBERG := .pyiceberg
BIN     := $(VENV)/bin
INSTALL := $(VENV)/.installed
CASES   ?= tests/conformance/cases
ARGS    ?=

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo demo-s3 test unit check format bench bench-merge bench-compaction bench-lookup bench-serve bench-scan bench-metadata bench-ingest bench-contention bench-many-streams bench-peers bench-hostile soak cdc alerts console-test conformance docs site up down setup java jars classes peer spark-peers redis playwright clean distclean

help: ## This index
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):.*## (.*)/  make \1\t\2/' | expand -t 25
	@echo '  Options for the program behind a target: make demo ARGS="--scale 0.05"'

demo: jars ## The flights demo: real Kafka, Spark, service, console
	@$(BIN)/python -m braid.demo.flights $(ARGS)

demo-s3: jars ## The same with the warehouse on an S3 server
	@$(BIN)/python -m braid.demo.flights --s3 $(ARGS)

test: classes peer ## Every test that guards a change (about 20 minutes)
	@$(BIN)/python -m tests.side_by_side $(ARGS)

unit: $(INSTALL) ## The fast tests of tests/unit, under three minutes: no Kafka, no Spark, no Java
	@$(BIN)/python -m tests.side_by_side --unit $(ARGS)

check: $(INSTALL) ## Format, lint, types, import rules
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

format: $(INSTALL) ## Rewrite the code in house format
	@$(BIN)/ruff check --fix-only --quiet .
	@$(BIN)/ruff format .

conformance: $(INSTALL) ## Run merge cases: make conformance CASES=path
	@$(BIN)/python -m tests.conformance.run $(CASES)

bench: jars ## Numbers: make bench ARGS="--help"
	@$(BIN)/python -m benchmarks $(ARGS)

bench-merge: jars ## Merging beside Java: make bench-merge ARGS="--help"
	@$(BIN)/python -m benchmarks.merging $(ARGS)

bench-compaction: jars ## Compaction beside Java: make bench-compaction ARGS="--help"
	@$(BIN)/python -m benchmarks.compaction $(ARGS)

bench-lookup: $(INSTALL) ## Rows by key: make bench-lookup ARGS="--help"
	@$(BIN)/python -m benchmarks.lookup $(ARGS)

bench-serve: $(INSTALL) redis ## Rows over HTTP, beside Redis: make bench-serve ARGS="--help"
	@PYTHONPATH=$(REDIS) $(BIN)/python -m benchmarks.serve $(ARGS)

bench-scan: jars ## Scans beside Java and plain pyarrow: make bench-scan ARGS="--help"
	@$(BIN)/python -m benchmarks.scan $(ARGS)

bench-metadata: $(INSTALL) ## Plans, commits and expiry of large tables: make bench-metadata ARGS="--help"
	@$(BIN)/python -m benchmarks.metadata $(ARGS)

bench-ingest: jars ## Kafka to table, with every process: make bench-ingest ARGS="--help"
	@$(BIN)/python -m benchmarks.ingest $(ARGS)

bench-contention: jars ## 64 writers of one table beside compaction: make bench-contention ARGS="--help"
	@$(BIN)/python -m benchmarks.contention $(ARGS)

bench-many-streams: $(INSTALL) ## What thousands of registered streams cost: make bench-many-streams ARGS="--help"
	@$(BIN)/python -m benchmarks.many_streams $(ARGS)

bench-peers: jars peer spark-peers ## Beside pypaimon, paimon-rust, and wide rows on Spark with Delta and Iceberg
	@$(BIN)/python -m benchmarks.peers $(ARGS)

bench-hostile: $(INSTALL) ## Hostile requests against the service: make bench-hostile ARGS="--help"
	@$(BIN)/python -m benchmarks.hostile $(ARGS)

docs: $(INSTALL) ## Write the reference pages that are made from the code
	@$(BIN)/python -m docs.generate

site: docs ## The documentation as a site, in site/
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet $(ARGS)

up: ## A deployment in containers: Kafka, a store, a registry, Braid, Prometheus, Grafana
	@containers/make_secrets
	@docker compose --project-name braid up --detach --build --wait $(ARGS)

down: ## End that deployment; ARGS=--volumes deletes its data
	@docker compose --project-name braid down $(ARGS)

soak: jars ## Faults, and streams beside compaction, for many minutes
	@SWEEP_SHARE=1 $(BIN)/python -m pytest -m "soak or sweep" --hypothesis-profile=random --timeout=0 $(ARGS)

cdc: $(INSTALL) ## Changes of a real PostgreSQL server, captured by Debezium
	@$(BIN)/python -m tests.support.captured_postgres.server
	@$(BIN)/python -m pytest -m cdc --timeout=0 tests/integration/test_captured_postgres.py $(ARGS)

console-test: jars playwright ## The console in a Chromium of this machine (apt-get install chromium)
	@PYTHONPATH=$(PLAYWRIGHT) $(BIN)/python -m pytest tests/console $(ARGS)

PROMTOOL ?= promtool
alerts: ## Check and test the alert rules with promtool (apt-get install prometheus)
	@$(PROMTOOL) check rules observability/prometheus/alerts.yml
	@$(PROMTOOL) test rules observability/prometheus/alerts_test.yml

setup: jars ## Only set up: environment and jars
	@echo 'ready: $(BIN)/braid --help'

clean: ## Remove caches and build outputs
	@rm -rf .cache build dist site .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache .coverage
	@find . -name __pycache__ -not -path './.venv*' -prune -exec rm -rf {} +

distclean: clean ## Remove the environments and jars as well
	@rm -rf $(VENV) $(PEER) $(SPARK_PEERS) $(REDIS) $(PLAYWRIGHT) $(PYICEBERG) .jars *.egg-info

# --- set-up ---------------------------------------------------------------------------------

# The first of these that is 3.11 or newer and can make environments; PYTHON=... names another.
find_python = for python in $(PYTHON) python3 python3.14 python3.13 python3.12 python3.11; do \
	  if "$$python" -c 'import sys, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; \
	  then echo "$$python"; exit 0; fi; done; \
	echo "make: Python 3.11 or newer with its venv module is needed, found $$(python3 --version 2>&1 || true)" >&2; \
	echo "hint: apt-get install python3-venv, brew install python, or make PYTHON=/path/to/python3.x" >&2; exit 1

# Java is looked for first: better one line now than after the download.
$(INSTALL): pyproject.toml constraints.txt
	@set -e; python=$$($(find_python)); \
	$$python -m braid.pipelines.spark.java >/dev/null; \
	echo "setting up $(VENV) (a few minutes the first time)"; \
	[ -x $(BIN)/python ] || $$python -m venv $(VENV); \
	$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check -e '.[dev]' -c constraints.txt; \
	touch $@

jars: $(INSTALL)
	@$(BIN)/python -m braid.pipelines.spark.jars --quiet
	@$(BIN)/python -m braid.pipelines.spark.class_archive --quiet

# Java starts in half the time when its classes are kept as a JVM has them in memory.
classes: jars
	@$(BIN)/python -m tests.support.class_archive

# pypaimon pins an old pyarrow, so it lives in an environment of its own.
peer: $(PEER)/.installed $(PYICEBERG)/.installed
$(PEER)/.installed: tests/interop/pypaimon.txt
	@set -e; python=$$($(find_python)); \
	echo "setting up $(PEER) (another implementation of the format, for the tests)"; \
	[ -x $(PEER)/bin/python ] || $$python -m venv $(PEER); \
	$(PEER)/bin/python -m pip install --quiet --no-compile --disable-pip-version-check -r $<; \
	touch $@

# pyiceberg, beside the environment: only the tests of Iceberg metadata read with it. Its other needs are there.
$(PYICEBERG)/.installed: tests/interop/pyiceberg.txt $(INSTALL)
	@$(BIN)/python -m pip install --quiet --no-compile --no-deps --disable-pip-version-check --upgrade --target $(PYICEBERG) -r $<
	@touch $@

# Redis as a program, beside the environment: only one benchmark needs it.
redis: $(REDIS)/.installed
$(REDIS)/.installed: benchmarks/serve/redis.txt $(INSTALL)
	@$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check --upgrade --target $(REDIS) -r $<
	@touch $@

# The driver of browsers, beside the environment: only the tests of the console need it.
playwright: $(PLAYWRIGHT)/.installed
$(PLAYWRIGHT)/.installed: tests/console/requirements.txt $(INSTALL)
	@$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check --upgrade --target $(PLAYWRIGHT) -r $<
	@touch $@

# Delta and Iceberg support an older Spark than ours. Their jars are fetched by the benchmark.
spark-peers: $(SPARK_PEERS)/.installed
$(SPARK_PEERS)/.installed: benchmarks/peers/spark.txt
	@set -e; python=$$($(find_python)); \
	echo "setting up $(SPARK_PEERS) (another Spark, for make bench-peers; 500 MB)"; \
	[ -x $(SPARK_PEERS)/bin/python ] || $$python -m venv $(SPARK_PEERS); \
	$(SPARK_PEERS)/bin/python -m pip install --quiet --no-compile --disable-pip-version-check -r $<; \
	touch $@
