# `make run` prints a certified guarantee, `make quick` checks the core in about a minute,
# `make test` everything. All create what they need in .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: run quick test portable browser node lint style docs bench picture schemas paper release-check clean

run: $(VENV)/.installed
	$(BIN)/shuffledp epsilon --eps0 4 --users 10000 --rounds 4 --delta 1e-6
	@echo; echo "Next: 'source $(BIN)/activate', after which 'shuffledp --help' lists all commands."

# the mathematics: every engine, profile, composition and randomizer against its references
CORE := $(addprefix tests/,test_house.py test_shuffle.py bounds composition engines profiles \
	randomizers soundness/test_planted_errors.py soundness/test_who_randomizes.py)

# what could depend on the last bits of floats: the mathematics, printed digits and snippets
PORTABLE := $(CORE) tests/soundness tests/docs/test_snippets.py tests/cli/test_everyday.py src

# one thread for each of two processes, since more would only wait for each other; and the shells
# that tests start share what was compiled
quick test: export OPENBLAS_NUM_THREADS := 1
unexport PYTHONDONTWRITEBYTECODE

quick: lint
	$(BIN)/pytest --numprocesses 2 --dist worksteal -m "not slow" $(CORE)

# files as a whole, since their tests share what they prepare; in order, which ends with short ones;
# mypy meanwhile, which has one process, and speaks after the tests
TESTS := $(BIN)/pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder -rs
test: style browser node
	@echo "$(BIN)/mypy, beside the tests"; \
	report=$$(mktemp); $(BIN)/mypy >$$report 2>&1 & types=$$!; trap "kill $$types" INT TERM; \
	echo "$(TESTS)"; $(TESTS); tested=$$?; \
	wait $$types; typed=$$?; echo "$(BIN)/mypy"; cat $$report; rm -f $$report; \
	[ $$tested = 0 ] && [ $$typed = 0 ]

# the same results with the instructions, the matrix products and the numpy of other machines
portable: $(VENV)/.installed-oldest
	PYTHONPATH=. $(BIN)/python tests/portable.py $(VENV)/oldest/bin/python \
		--numprocesses 2 --dist worksteal -m "not slow" $(PORTABLE)

# the page is tested in Chromium: found, or installed where that is allowed, or left out
browser:
	@command -v chromium chromium-browser google-chrome google-chrome-stable >/dev/null \
	|| [ -n "$$CHROMIUM" ] \
	|| { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && echo "installing chromium" \
	     && apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium >/dev/null; } \
	|| echo "no Chromium here: the tests of the page in a browser will be skipped"

# the JavaScript client is tested in Node.js: found, or left out
node:
	@command -v node >/dev/null || [ -n "$$NODE" ] \
	|| echo "no Node.js here: the tests of the JavaScript client will be skipped"

lint: style
	$(BIN)/mypy

style: $(VENV)/.installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

# the site, into build/site; material tells of its successor on every run
docs: $(VENV)/.installed-test
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

bench: $(VENV)/.installed-test
	$(BIN)/python -m pip install --quiet --editable '.[bench]'
	$(BIN)/python -m benchmarks --json benchmarks.json --picture benchmarks.png

picture: $(VENV)/.installed-test
	$(BIN)/python docs/pictures.py
	$(BIN)/python docs/diagrams.py

# what is in src/shuffledp/schemas, from the types of the answers
schemas: $(VENV)/.installed-test
	$(BIN)/python tests/schemas.py

paper: $(VENV)/.installed-test
	$(BIN)/shuffledp reproduce all --out build/paper
	cp build/paper/*.png docs/paper/

# builds the wheel and the sdist and tries the wheel where there are only numpy and click, then with
# the extras
EXTRAS = $(shell grep -oE '^(plot|sweep|interop|parquet|documents|web) =' pyproject.toml | cut -d' ' -f1)
comma := ,
empty :=
release-check: $(VENV)/.installed
	rm -rf dist $(VENV)/release
	$(BIN)/python -m pip install --quiet build
	$(BIN)/python -m build --outdir dist .
	$(PYTHON) -m venv $(VENV)/release
	$(VENV)/release/bin/python -m pip install --quiet dist/shuffledp-*.whl
	$(VENV)/release/bin/python tests/release.py
	$(VENV)/release/bin/python -m pip install --quiet \
		"$$(ls dist/shuffledp-*.whl)[$(subst $(empty) ,$(comma),$(EXTRAS))]"
	$(VENV)/release/bin/python tests/release.py $(EXTRAS)

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(VENV)/.installed-test: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --editable '.[test,plot,docs]'
	touch $@

$(VENV)/.installed-oldest: $(VENV)/.installed-test tests/oldest.txt
	$(PYTHON) -m venv $(VENV)/oldest
	$(VENV)/oldest/bin/python -m pip install --quiet --constraint tests/oldest.txt --editable '.[test,plot]'
	touch $@

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis dist build
