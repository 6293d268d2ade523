# make demo   run the reference pipeline: red gate, explanation, generalization, green gate, certified release, report
# make test   run the tests (without PostgreSQL, Java or Chromium, their tests are skipped)
# Both set up .venv first; they need Python 3.11 or newer and make.

PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
BIN := .venv/bin
# The locks list every package with its hash, so nothing is resolved at installation. uv is faster; pip is the fallback.
PIP := $(BIN)/python -m pip install -qq --disable-pip-version-check
install = { $(PIP) uv && $(BIN)/uv pip install -q --python $(BIN)/python --no-deps $(1); } || $(PIP) --no-deps $(1)
DEMO_FOLDER ?= demo-output
DEMO_ROWS ?= 1000000

.PHONY: demo test test-all bench lint types docs dist lock clean

demo: .venv/demo
	$(BIN)/privacy-plugin demo --folder "$(DEMO_FOLDER)" --rows $(DEMO_ROWS)

test: .venv/dev
	$(BIN)/python -m pytest -m "not slow" -n 2 --dist loadgroup

test-all: .venv/dev
	$(BIN)/python -m pytest -n 2 --dist loadgroup

bench: .venv/dev
	@for benchmark in benchmarks/*.py; do echo "== $$benchmark"; $(BIN)/python $$benchmark || exit 1; done

lint: .venv/dev types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: .venv/dev
	$(BIN)/mypy

docs: .venv/dev
	$(BIN)/python -m pytest -q --doctest-modules privacy_plugin
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	$(BIN)/pdoc --output-directory site/api privacy_plugin privacy_plugin.orchestration privacy_plugin.expectations

dist: .venv/dev
	rm -rf dist
	$(BIN)/python -m build --quiet
	$(BIN)/twine check --strict dist/*

# The locks pin exact versions with hashes for development; users get the ranges of pyproject.toml.
lock:
	$(PIP) uv
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
		--no-emit-find-links --extra dev --output-file requirements.lock pyproject.toml
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
		--no-emit-find-links --extra dagster --constraint requirements.lock --output-file requirements-demo.lock pyproject.toml

.venv/bin/python:
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed; set PYTHON=/path/to/python3"; exit 1; }
	$(PYTHON) -m venv .venv

.venv/demo: .venv/bin/python requirements-demo.lock pyproject.toml
	@echo "Installing the packages of the demo into .venv (once) ..."
	@$(call install,--requirement requirements-demo.lock)
	@$(call install,--editable .)
	@echo "Compiling the hot loops (once) ..."
	@$(BIN)/privacy-plugin compile > /dev/null 2>&1
	@touch $@

.venv/dev: .venv/bin/python requirements.lock pyproject.toml
	@echo "Installing the development packages into .venv (once) ..."
	@$(call install,--requirement requirements.lock)
	@$(call install,--editable .)
	@touch $@

clean:
	rm -rf .venv demo-output site build dist *.egg-info
