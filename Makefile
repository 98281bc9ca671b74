# make demo   the main job on a small story: no key, no network beyond the package index
# make test   installs what the tests need and runs them
# make check  format, lint and strict types
# make fix    formats the code and mends what the linter can
# make bundle writes dist/gligabao-mcp-VERSION.mcpb for Claude Desktop (needs Node)

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

.PHONY: demo test check fix bench bundle clean

demo: $(VENV)/.demo
	@$(BIN)/gligabao demo

test: $(VENV)/.dev
	$(BIN)/python -m pytest --numprocesses auto --maxprocesses 4 --dist loadfile

check: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/basedpyright --pythonpath $(BIN)/python

fix: $(VENV)/.dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks

# The official tool, of a fixed release: it checks the manifest and packs.
MCPB := npx --yes @anthropic-ai/mcpb@2.1.2

bundle: $(VENV)/.dev
	$(BIN)/python -m gligabao_mcp.install.bundle build/bundle
	$(MCPB) validate build/bundle/manifest.json
	mkdir -p dist
	$(MCPB) pack build/bundle dist/gligabao-mcp-$$($(BIN)/python -c 'import gligabao_mcp as g; print(g.__version__)').mcpb

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
