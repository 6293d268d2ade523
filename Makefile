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

.PHONY: demo test test-all bench lint types docs dist lock lowest newest fuzz audit clean

demo: .venv/demo
	$(BIN)/privacy-plugin demo --folder "$(DEMO_FOLDER)" --rows $(DEMO_ROWS)

test: .venv/dev
	$(BIN)/python -m pytest -m "not slow" -n 2 --dist loadgroup

test-all: .venv/dev
	$(BIN)/python -m pytest -n 2 --dist loadgroup

bench: .venv/dev
	@for benchmark in benchmarks/*.py; do echo "== $$benchmark"; $(BIN)/python $$benchmark || exit 1; done

# The doors, each by its quickest tests, with the lowest and the newest versions that pyproject.toml allows, in an
# environment of its own. VERSION is the Python to use; uv downloads it where it may.
VERSION ?= 3.11
DOORS := tests/test_public_api.py tests/cli/test_check.py tests/cli/test_certify.py tests/anonymizers/test_synthesize.py \
	tests/orchestration/test_pipeline.py tests/expectations/test_suite.py tests/report/test_report.py

lowest: RESOLUTION = lowest-direct
newest: RESOLUTION = highest
lowest newest: .venv/bin/python
	$(PIP) uv
	$(BIN)/uv venv --quiet --clear --python $(VERSION) .venv/$@
	$(BIN)/uv pip install --quiet --python .venv/$@ --resolution $(RESOLUTION) --editable '.[all]' \
		'pytest>=8' 'hypothesis>=6.100' 'polars>=1.0' 'pytest-xdist>=3.6'
	.venv/$@/bin/python -m pytest -q -p no:cacheprovider $(DOORS)

# Hostile inputs for SECONDS at every reader; without SECONDS the test suite tries a fixed number of them.
SECONDS ?= 60
fuzz: .venv/dev
	PRIVACY_PLUGIN_FUZZ_SECONDS=$(SECONDS) $(BIN)/python -m pytest -q tests/fuzz

# Known vulnerabilities of the locked packages, and what they are (CycloneDX); asks the network.
audit: .venv/bin/python
	$(PIP) uv
	$(BIN)/uv tool run pip-audit --require-hashes --disable-pip --requirement requirements.lock
	$(BIN)/uv tool run --from cyclonedx-bom cyclonedx-py requirements requirements.lock --output-file sbom.cdx.json

lint: .venv/dev types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: .venv/dev
	$(BIN)/mypy

docs: .venv/dev
	$(BIN)/python -m pytest -q --doctest-modules privacy_plugin
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	PDOC_ALLOW_EXEC=1 $(BIN)/pdoc --output-directory site/api privacy_plugin privacy_plugin.orchestration privacy_plugin.expectations

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
	rm -rf .venv demo-output site build dist sbom.cdx.json *.egg-info
