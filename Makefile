# make demo   the main job on a small story: no key, no network beyond the package index
# make test   installs what the tests need and runs them
# make check  format, lint and strict types
# make fix    formats the code and mends what the linter can

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

.PHONY: demo test check fix bench clean

demo: $(VENV)/.demo
	@$(BIN)/gligabao demo

test: $(VENV)/.dev
	$(BIN)/python -m pytest

check: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/basedpyright --pythonpath $(BIN)/python

fix: $(VENV)/.dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) build dist

$(VENV)/.demo: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	@echo "Installing (a minute or two the first time) ..."
	@$(BIN)/python -m pip install -qq --disable-pip-version-check -e '.[local]'
	@touch $@

$(VENV)/.dev: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	@echo "Installing (a minute or two the first time) ..."
	@$(BIN)/python -m pip install -qq --disable-pip-version-check -e '.[local,dev]'
	@touch $@ $(VENV)/.demo
