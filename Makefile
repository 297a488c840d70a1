# What an owner and a developer say: make run, make test. `make help` lists the rest.
SHELL := /bin/sh
.DEFAULT_GOAL := help
VENV := .venv
RUN := $(VENV)/bin/python -m
VERSION = $(shell sed -n 's/^VERSION = "\(.*\)"/\1/p' app/core/version.py)
UV ?= uv
ARGS ?=
# byte code is kept, whatever the environment says: each server of a test would compile all sources anew
export PYTHONDONTWRITEBYTECODE =
# the tests' own processes; three suit two cores, as tests often wait for a server or a browser
WORKERS ?= 3

# the first Python that is new enough
FIND_PYTHON = for python in $(PYTHON) python3 python3.14 python3.13 python3.12 python3.11; do \
	"$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && break; python=; done
PIP := $(RUN) pip install --quiet --disable-pip-version-check --no-input --require-hashes

.PHONY: help
help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 20

$(VENV)/made:
	@$(FIND_PYTHON); \
	if [ -z "$$python" ]; then echo "Waypost needs Python 3.11 or newer; name it with PYTHON=/path/to/python3" >&2; exit 1; fi; \
	if ! "$$python" -c 'import ensurepip, venv' 2>/dev/null; then \
		package=$$("$$python" -c 'import sys; print("python3.%d-venv" % sys.version_info[1])'); \
		if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
			echo "Installing $$package"; apt-get update -qq; \
			DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$$package" >/dev/null; \
		else \
			echo "$$python has no ensurepip. Install it first: apt-get install $$package" >&2; exit 1; \
		fi; \
	fi; \
	echo "Building $(VENV) with $$("$$python" --version)"; \
	"$$python" -m venv --clear $(VENV) && touch $@

$(VENV)/installed: $(VENV)/made requirements.txt
	@echo "Installing what Waypost needs"
	@$(PIP) -r requirements.txt
	@touch $@

$(VENV)/installed-dev: $(VENV)/installed requirements-dev.txt
	@echo "Installing what its tests need"
	@$(PIP) -r requirements-dev.txt
	@touch $@

.PHONY: install
install: $(VENV)/installed ## build .venv

.PHONY: run
run: install ## start Waypost: web and worker, on 127.0.0.1:8000 (PORT=, HOST= change it)
	@exec ./waypost serve $(if $(PORT),--port '$(PORT)') \
		$(if $(filter command,$(firstword $(origin HOST))),--host '$(HOST)')

.PHONY: chromium
chromium:
	@for name in $$CHROMIUM chromium chromium-browser google-chrome google-chrome-stable; do \
		command -v "$$name" >/dev/null && exit 0; done; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo "Installing chromium for the tests in a browser"; apt-get update -qq; \
		DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >/dev/null && exit 0; \
	fi; \
	echo "No Chromium: the tests in a browser will be skipped. Install the package chromium, or name one with CHROMIUM=/path" >&2

# Other servers that tests start. Installed where tests are all that a machine is for: as packages they start by themselves
SERVERS = nginx caddy redis-server pgbouncer
.PHONY: servers
servers:
	@missing=; for name in $(SERVERS); do \
		PATH="$$PATH:/usr/sbin" command -v "$$name" >/dev/null || missing="$$missing $$name"; done; \
	if [ -n "$$missing" ] && [ -n "$$CI" ] && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo "Installing$$missing for the tests"; apt-get update -qq; \
		DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing >/dev/null && exit 0; \
	fi; \
	if [ -n "$$missing" ]; then echo "Tests with these servers will be skipped. Install the packages:$$missing" >&2; fi

.PHONY: test
test: $(VENV)/installed-dev $(VENV)-s3/installed $(VENV)-client/installed chromium servers node-provider ## the tests, in a few minutes (ARGS="-k alias" for some)
	@$(RUN) pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder --durations=20 $(FULL) $(ARGS)

# a provider of OpenID Connect of Node.js: without npm, tests with it are skipped
NODE_PROVIDER := tests/accounts/oidc/node_provider
$(NODE_PROVIDER)/node_modules/installed: $(NODE_PROVIDER)/package-lock.json
	@npm ci --prefix $(NODE_PROVIDER) --ignore-scripts --no-audit --no-fund --silent && touch $@

.PHONY: node-provider
node-provider:
	@if ! command -v npm >/dev/null || ! $(MAKE) -s --no-print-directory $(NODE_PROVIDER)/node_modules/installed; then \
		echo "Single sign-on is not tested with a provider of Node.js: it can't be fetched." >&2; \
	fi

.PHONY: test-full
test-full: FULL := --full
test-full: test ## the same, and the long ones: kills, attacks, every page in a browser

.PHONY: lint
lint: $(VENV)/installed-dev $(VENV)-client/installed lint-front-end ## ruff, mypy, djlint; eslint and stylelint where there is Node.js
	@$(RUN) ruff check .
	@$(RUN) ruff format --check .
	@$(RUN) mypy
	@cd $(CLIENT) && ../../$(VENV)-client/bin/python -m mypy
	@$(RUN) djlint --lint --quiet app/templates

# Node.js is for this alone: nothing of what Waypost serves is built
FRONT_END := scripts/front_end
FORMED := "app/static/*.{css,js}" "$(FRONT_END)/*.config.js"
PRETTIER := --check
$(FRONT_END)/node_modules/installed: $(FRONT_END)/package-lock.json
	@npm ci --prefix $(FRONT_END) --ignore-scripts --no-audit --no-fund --silent && touch $@

.PHONY: lint-front-end
lint-front-end:
	@if ! command -v npm >/dev/null; then \
		echo "Scripts and styles are not linted: for that, install Node.js 20.19 or newer with npm." >&2; \
	elif ! $(MAKE) -s --no-print-directory $(FRONT_END)/node_modules/installed; then \
		echo "Scripts and styles are not linted: their linters can't be fetched." >&2; \
	else \
		$(FRONT_END)/node_modules/.bin/eslint --config $(FRONT_END)/eslint.config.js app && \
		$(FRONT_END)/node_modules/.bin/stylelint --config $(FRONT_END)/stylelint.config.js "app/**/*.css" "!app/static/vendor/**" && \
		$(FRONT_END)/node_modules/.bin/prettier --config $(FRONT_END)/prettier.config.js --log-level warn $(PRETTIER) $(FORMED); \
	fi

.PHONY: format
format: $(VENV)/installed-dev ## give code, scripts and styles their form
	@$(RUN) ruff format .
	@$(MAKE) -s lint-front-end PRETTIER=--write

.PHONY: languages
languages: $(VENV)/installed-dev ## compile the catalogues; say which messages are not translated
	@$(RUN) babel.messages.frontend -q compile -d app/i18n -D messages
	@$(RUN) pytest -q tests/i18n/test_catalogues.py

.PHONY: messages
messages: $(VENV)/installed-dev ## bring the catalogues up to date with the messages of the code, and compile them
	@$(RUN) scripts.catalogues

.PHONY: migrations-check
migrations-check: $(VENV)/installed-dev ## do migrations lead to the models, on both databases?
	@$(RUN) tests.migrations

$(VENV)-fuzz/installed: $(VENV)/made requirements-fuzz.txt
	@echo "Building $(VENV)-fuzz"
	@$(RUN) venv --clear $(VENV)-fuzz
	@$(VENV)-fuzz/bin/python -m pip install --quiet --disable-pip-version-check --no-input --require-hashes -r requirements-fuzz.txt
	@touch $@

.PHONY: fuzz
fuzz: $(VENV)/installed-dev $(VENV)-fuzz/installed ## generated requests against the OpenAPI document, three seeds
	@SCHEMATHESIS=$(VENV)-fuzz/bin/schemathesis $(RUN) tests.fuzz $(ARGS)

$(VENV)-s3/installed: $(VENV)/made requirements-s3.txt
	@echo "Building $(VENV)-s3"
	@$(RUN) venv --clear $(VENV)-s3
	@$(VENV)-s3/bin/python -m pip install --quiet --disable-pip-version-check --no-input --require-hashes -r requirements-s3.txt
	@touch $@

CLIENT := clients/python
$(VENV)-client/installed: $(VENV)/made $(CLIENT)/requirements-dev.txt
	@echo "Building $(VENV)-client"
	@$(RUN) venv --clear $(VENV)-client
	@$(VENV)-client/bin/python -m pip install --quiet --disable-pip-version-check --no-input --require-hashes -r $(CLIENT)/requirements-dev.txt
	@touch $@

.PHONY: test-client
test-client: $(VENV)/installed $(VENV)-client/installed ## the tests of clients/python alone, which are part of make test (ARGS= as there)
	@cd $(CLIENT) && ../../$(VENV)-client/bin/python -m pytest $(FULL) $(ARGS)

$(VENV)-audit/installed: $(VENV)/made requirements-audit.txt
	@echo "Building $(VENV)-audit"
	@$(RUN) venv --clear $(VENV)-audit
	@$(VENV)-audit/bin/python -m pip install --quiet --disable-pip-version-check --no-input --require-hashes -r requirements-audit.txt
	@touch $@

.PHONY: audit
audit: $(VENV)-audit/installed ## compare the pinned versions with published advisories (asks PyPI)
	@$(RUN) scripts.audit $(VENV)-audit/bin/pip-audit $(ARGS)

.PHONY: pages
pages: $(VENV)/installed-dev ## write the pages of docs/ that are made from the code
	@$(RUN) scripts.configure_page && $(RUN) scripts.api_page

.PHONY: collection
collection: $(VENV)/installed ## every call of the API as a Postman collection, in dist/
	@$(RUN) scripts.collection

# MKDOCS names another one, where .venv has none
.PHONY: docs
docs: $(VENV)/installed-dev ## the documentation as a site in site/, with every link checked
	@PYTHONPATH=. NO_MKDOCS_2_WARNING=1 $(or $(MKDOCS),$(VENV)/bin/mkdocs) build --quiet --strict && echo "site/index.html"

.PHONY: bench
bench: $(VENV)/installed-dev ## the figures that Waypost must reach
	@for part in bench/[a-z]*.py; do echo "== $$part"; $(RUN) "bench.$$(basename "$$part" .py)" || exit 1; done

.PHONY: lock
lock: ## pin the dependencies of pyproject.toml anew (needs uv); UPGRADE=--upgrade takes newer ones
	@$(UV) pip compile pyproject.toml $(LOCK) -o requirements.txt
	@$(UV) pip compile pyproject.toml --extra clickhouse $(LOCK) -c requirements.txt -o requirements-clickhouse.txt
	@$(UV) pip compile pyproject.toml --extra tracing $(LOCK) -c requirements.txt -o requirements-tracing.txt
	@$(UV) pip compile pyproject.toml --group dev $(LOCK) -c requirements-clickhouse.txt -o requirements-dev.txt
	@$(UV) pip compile --group fuzz $(LOCK) -o requirements-fuzz.txt
	@$(UV) pip compile --group s3 $(LOCK) -o requirements-s3.txt
	@$(UV) pip compile --group audit $(LOCK) -o requirements-audit.txt
	@cd $(CLIENT) && $(UV) pip compile pyproject.toml --group dev $(LOCK) -o requirements-dev.txt
LOCK = --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links \
	--custom-compile-command "make lock" $(UPGRADE)

.PHONY: release
release: $(VENV)/installed-dev ## a wheel, its sources, and what pins it with its libraries, in dist/
	@rm -rf dist && $(RUN) build --no-isolation --outdir dist . >dist.log 2>&1 && rm dist.log || { cat dist.log >&2; exit 1; }
	@{ cat requirements.txt && echo "waypost==$(VERSION) $$($(RUN) pip hash dist/*.whl | tail -n 1)"; } >dist/requirements.txt
	@ls dist

# of the tools that build images from a Containerfile, the first that is here
IMAGE ?= waypost:$(VERSION)
.PHONY: image
image: ## the container image; IMAGE=name:tag, IMAGE_ARGS="--target postgresql" has pg_dump besides
	@for tool in $(BUILDER) podman buildah docker; do command -v "$$tool" >/dev/null && break; tool=; done; \
	case "$$tool" in '') echo "No podman, buildah or docker is here to build an image" >&2; exit 1;; \
		*docker) format= ;; *) format='--format docker' ;; esac; \
	"$$tool" build $$format --file deploy/Containerfile --tag '$(IMAGE)' $(IMAGE_ARGS) .

BASE_IMAGE ?= python:3.13-slim-trixie
.PHONY: image-test
image-test: export BASE_IMAGE := $(BASE_IMAGE)
image-test: export IMAGE_ARGS := $(IMAGE_ARGS)
image-test: $(VENV)/installed-dev ## build and run the image by podman or docker, and the compose files; BASE_IMAGE=name of the base image
	@$(RUN) pytest --full -s tests/image -k "engine or compose"

.PHONY: clean
clean: ## remove what make has built; instance/ stays
	rm -rf $(VENV) $(VENV)-fuzz $(VENV)-s3 $(VENV)-client $(VENV)-audit .mypy_cache .ruff_cache .pytest_cache test-results dist site \
		$(FRONT_END)/node_modules $(NODE_PROVIDER)/node_modules
