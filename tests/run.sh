#!/usr/bin/env bash
# Runs one suite or all of them; every pytest suite adds to the closing line.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
export LC_ALL=C.UTF-8 NO_COLOR=1
passed=0 failed=0 skipped=0
declare -a broken=()

count() { # name, command...: a check that either passes or fails
  local name=$1 log; shift
  local begun=$SECONDS
  log=$(mktemp)
  if "$@" >"$log" 2>&1; then
    passed=$((passed + 1)); printf 'ok      %-28s %4d s\n' "$name" $((SECONDS - begun))
  else
    failed=$((failed + 1)); broken+=("$name"); printf 'FAILED  %-28s %4d s\n' "$name" $((SECONDS - begun)); tail -n 120 "$log"
  fi
  rm -f "$log"
}

suite() { # name, pytest arguments...: adds pytest's own figures
  local name=$1 xml; shift
  local begun=$SECONDS
  xml=$(mktemp)
  python -m pytest -q -ra --tb=short --junitxml="$xml" "$@"
  local rc=$?
  read -r p f s < <(python tests/junit_counts.py "$xml")
  passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
  if [ "$rc" -ne 0 ]; then
    broken+=("$name"); [ "$f" -gt 0 ] || failed=$((failed + 1))
  fi
  printf '%-8s%-28s %4d s\n' "$([ "$rc" -eq 0 ] && echo ok || echo FAILED)" "$name" $((SECONDS - begun))
  rm -f "$xml"
}

lint() {
  count ruff ruff check .
  count ruff-format ruff format --check .
  count mypy-strict mypy -p ansible_collections.rocemesh.multinode.plugins -p lab
  count yamllint yamllint -s .
  count ansible-lint ansible-lint --offline
  count docs antsibull-docs lint-collection-docs --plugin-docs --validate-collection-refs self .
}
# The device suites start simulators of their own on free ports, so they run side by side.
unit() { suite unit -n 2 tests/unit; }
sanity() { count ansible-test-sanity tests/sanity/run.sh; count galaxy-importer tests/sanity/importer.sh; }
# The lab has built the vSphere simulator; a machine without Go tests that binary.
built_simulator() {
  local built=${ROCEMESH_LAB_DIR:-.lab}/bin/labvsphere
  if [ -x "$built" ]; then ROCEMESH_LABVSPHERE=$(realpath "$built"); export ROCEMESH_LABVSPHERE; fi
}
integration() {
  built_simulator
  suite integration -n 4 --ignore=tests/integration/site --ignore=tests/integration/molecule "${LONG[@]/#/--ignore=}" \
    "${ALONE[@]/#/--deselect=}" tests/integration
  suite integration-alone -n 0 "${ALONE[@]}"
}
# Four ranks of torch with time limits: they want the cores for themselves.
ALONE=(
  tests/integration/live/test_benchmark.py::test_for_real_on_four_ranks
  tests/integration/mesh/test_open_mpi.py::test_the_training_job_runs_on_all_hosts
)
# Driver installations that are interrupted and finished, minutes each: on throw-away disks, and on the lab's nodes.
LONG=(tests/integration/nic/test_molecule_profiles.py tests/integration/nic/test_full_disk.py)
ON_NODES=tests/integration/molecule/test_driver_profiles.py
drivers() { suite drivers -n 2 "${LONG[@]}"; suite drivers-on-nodes -n 0 "$ON_NODES"; }
site() { suite site tests/integration/site; }
faults() { suite faults tests/faults; }
bench() { built_simulator; suite bench tests/benchmarks; }
roles() { suite molecule --ignore="$ON_NODES" tests/integration/molecule; }

up() { python -m lab up || exit 1; }

case "${1:-all}" in
  lint | unit | sanity | integration | drivers | site | faults | bench) "$1" ;;
  molecule) roles ;;
  # Ten kills take as long as everything else together: `make faults` has them, and `make drivers` what is above.
  all) up; lint; unit; sanity; integration; site; roles ;;
  *) echo "usage: tests/run.sh [all|lint|unit|sanity|integration|drivers|molecule|site|faults|bench]"; exit 2 ;;
esac
[ "${#broken[@]}" -eq 0 ] || printf 'broken: %s\n' "${broken[*]}"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ "${#broken[@]}" -eq 0 ]
