#!/usr/bin/env bash
# Runs one suite or all of them; every check and every pytest suite adds to the closing line.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
export LC_ALL=C.UTF-8 NO_COLOR=1
# Thousands of processes import the same files, and pytest rewrites those of the tests.
unset PYTHONDONTWRITEBYTECODE
# One line per check or suite: passed, failed, skipped, its name if something is broken. Suites may run side by side.
tally=$(mktemp)
lanes=()
clean_up() {
  for lane in "${lanes[@]}"; do kill -- "-$lane" 2> /dev/null; done
  rm -rf "$tally" "$tally".*
}
trap clean_up EXIT
trap 'exit 130' INT TERM

why() { # name: of what failed, lines that are said again before the closing line
  { echo "--- $1"; cat; } >> "$tally.why"
}

count() { # name, command...: a check that either passes or fails
  local name=$1 log begun=$SECONDS; shift
  log=$(mktemp "$tally.XXXXXX")
  if "$@" > "$log" 2>&1; then
    echo "1 0 0" >> "$tally"; printf 'ok      %-28s %4d s\n' "$name" $((SECONDS - begun))
  else
    echo "0 1 0 $name" >> "$tally"; printf 'FAILED  %-28s %4d s\n' "$name" $((SECONDS - begun)); tail -n 120 "$log"
    why "$name" < <(tail -n 15 "$log")
  fi
}

suite() { # name, pytest arguments...: adds pytest's own figures; a skip that tests/allowed_skips.json does not name is a failure
  local name=$1 xml begun=$SECONDS rc p f s broken=; shift
  xml=$(mktemp "$tally.XXXXXX")
  python -m pytest -q -ra --tb=short --durations=25 --durations-min=1 --junitxml="$xml" "$@"
  rc=$?
  { read -r p f s; cat; } < <(python tests/junit.py "$xml")
  if [ "$rc" -ne 0 ] && [ "$f" -eq 0 ]; then f=1; fi
  if [ "$rc" -eq 1 ] && [ -n "${in_company:-}" ] && passes_alone "$xml"; then p=$((p + f)) f=0; fi
  [ "$f" -eq 0 ] || { broken=$name; why "$name" < <(python tests/junit.py --why "$xml" | head -n 30); }
  echo "$p $f $s $broken" >> "$tally"
  printf '%-8s%-28s %4d s\n' "$([ -z "$broken" ] && echo ok || echo FAILED)" "$name" $((SECONDS - begun))
}

# What runs beside two other workers and the lab may lose against their load: at most three failures are tried again,
# alone. A test that passes then is no failure, and stands by its name before the closing line: it is to be mended.
passes_alone() { # JUnit file
  local lost xml
  mapfile -t lost < <(python tests/junit.py --failed "$1")
  [ "${#lost[@]}" -gt 0 ] && [ "${#lost[@]}" -le 3 ] || return 1
  xml=$(mktemp "$tally.XXXXXX")
  python -m pytest -q -n 0 --tb=short --junitxml="$xml" "${lost[@]}" || return 1
  [ "$(python tests/junit.py "$xml")" = "${#lost[@]} 0 0" ] || return 1
  printf 'UNSTEADY, failed in company and passed alone: %s\n' "${lost[@]}" | tee -a "$tally.unsteady"
}

quick_lint() {
  count ruff ruff check .
  count ruff-format ruff format --check .
  count mypy-strict mypy -p ansible_collections.rocemesh.multinode.plugins -p lab
  count yamllint yamllint -s .
}
# While a change is made: what needs a minute or two of all that `make test` runs.
check() {
  local touched
  quick_lint
  mapfile -t touched < <(python tests/touched.py)
  [ "${#touched[@]}" -eq 0 ] || suite check -n 2 "${touched[@]}"
}
# All playbooks and roles in one start of ansible-playbook.
syntax() {
  local playbooks role roles=$tally.roles.yml
  mapfile -t playbooks < <(git grep -lE '^[- ] (hosts|ansible\.builtin\.import_playbook):' -- \
    ':(glob)*.yml' ':(glob)'{playbooks,molecule,lab,tests/rails,tests/integration}'/**/*.yml')
  for role in roles/*/; do
    printf -- '- hosts: localhost\n  tasks: [{ansible.builtin.import_role: {name: "%s"}}]\n' "$PWD/$role"
  done > "$roles"
  [ "${#playbooks[@]}" -gt 50 ] && ansible-playbook --syntax-check "$roles" "${playbooks[@]}"
}
lint() {
  quick_lint
  count syntax syntax
  count ansible-lint env PATH="$PWD/tests/lint:$PATH" ansible-lint --offline
  count docs antsibull-docs lint-collection-docs --plugin-docs --validate-collection-refs self .
  count docs-site env ANSIBLE_COLLECTIONS_PATH=collections python docs/site.py --dry
  local prose=(./*.md docs roles playbooks inventories plugins/modules plugins/action plugins/filter lab/README.md)
  count codespell codespell "${prose[@]}"
  count typos typos "${prose[@]}"
  count proselint proselint --config .proselintrc.json check ./*.md docs/*.md roles/*/README.md lab/README.md
}
unit() { local in_company=yes; suite unit -n 2 tests/unit; }
sanity() {
  count ansible-test-sanity tests/sanity/run.sh
  # Its own run of ansible-lint says nothing that `lint` does not.
  count galaxy-importer env GALAXY_IMPORTER_RUN_ANSIBLE_LINT=0 tests/sanity/importer.sh
}
# The device suites start simulators of their own on free ports: they need no lab, and run side by side.
integration() {
  # The lab of this run has built the vSphere simulator; without it the suite builds its own.
  if [ -n "${with_lab:-}" ]; then
    local built=${ROCEMESH_LAB_DIR:-.lab}/bin/labvsphere
    if [ -x "$built" ]; then ROCEMESH_LABVSPHERE=$(realpath "$built"); export ROCEMESH_LABVSPHERE; fi
  fi
  local in_company=yes
  # A file stays with one worker: what its fixtures play or build once is not played once per worker.
  suite integration -n 3 --dist loadfile --no-loadscope-reorder --ignore=tests/integration/site \
    --ignore=tests/integration/molecule "${LONG[@]/#/--deselect=}" "${ALONE[@]/#/--deselect=}" tests/integration
}
alone() { suite integration-alone -n 0 "${ALONE[@]}"; }
# Four ranks of torch, rates of links, runs that hang: what measures time wants the cores for itself.
ALONE=(
  tests/integration/fabric/test_measure.py
  tests/integration/mesh/test_hurt_runs.py
  tests/integration/live/test_stall.py
  tests/integration/handoff/test_slurm.py
  tests/integration/mesh/test_open_mpi.py::test_the_training_job_runs_on_all_hosts
)
# Driver installations that are interrupted and finished, Podman on a throw-away Debian, one vCenter's login in place of
# the other's in each of its places, two vCenters with eight rails or undone: minutes each.
LONG=(
  tests/integration/day2/test_undo_two_vcenters.py
  tests/integration/nic/test_molecule_profiles.py
  tests/integration/nic/test_full_disk.py
  tests/integration/nic/test_ofed_guide.py
  tests/integration/nic/test_ofed_profiles.py
  tests/integration/podman
  tests/integration/rails/test_two_vcenters.py
  tests/integration/vsphere/test_two_vcenters.py::test_mixed_logins_never_change_the_other_vcenter
)
ON_NODES=tests/integration/molecule/test_driver_profiles.py
drivers() { tests/podman_tools.sh; suite drivers -n 2 "${LONG[@]}"; suite drivers-on-nodes -n 0 "$ON_NODES"; }
site() { suite site tests/integration/site; }
rails() { suite rails -n 0 tests/rails; }
vcenters() { suite vcenters -n 0 tests/vcenters; }
vm() { suite vm -n 0 tests/vm; }
faults() { suite faults tests/faults; }
bench() { suite bench tests/benchmarks; }
# Some of the lies in the code that were noticed the last time: are they still? `make mutation` tries all.
mutation() { suite mutation -n 0 tests/mutation; }
# After the site suite, whose second run of the whole site changed nothing, no scenario converges twice, and of the
# benchmarks, all of which it has measured, one is.
molecule() {
  [ -z "${with_lab:-}" ] || local -x MOLECULE_AGAIN=syntax MOLECULE_PARTS=scoring MOLECULE_AFTER=syntax
  suite molecule --ignore="$ON_NODES" tests/integration/molecule
}

lane() { # name, suites...: in the background, in a process group of its own; its output is shown when it is done
  local name=$1; shift
  set -m
  { for part in "$@"; do "$part"; done; } > "$tally.$name" 2>&1 < /dev/null &
  lanes+=($!)
  set +m
}

# What only computes gives way to all that runs beside it.
computing() (
  renice -n 10 -p "$BASHPID" > /dev/null
  lint; unit; sanity; mutation
)

# The lab and all that plays on it is one lane; what needs no lab is the other. Neither alone keeps two cores busy. What
# measures time waits more than it computes, and comes first, while the other lane only computes.
all() {
  local with_lab=yes
  lane without-the-lab computing integration
  in_company=yes alone
  if python -m lab up 2>&1 | tee "$tally.lab"; then
    site; molecule
  else
    echo "0 1 0 lab" >> "$tally"; why lab < <(tail -n 15 "$tally.lab")
  fi
  wait "${lanes[0]}"
  lanes=()
  cat "$tally.without-the-lab"
}

case "${1:-all}" in
  integration) integration; alone ;;
  all | check | lint | unit | mutation | sanity | drivers | molecule | site | rails | vcenters | vm | faults | bench) "${1:-all}" ;;
  *) echo "usage: tests/run.sh [all|check|lint|unit|mutation|sanity|integration|drivers|molecule|site|rails|vcenters|vm|faults|bench]"; exit 2 ;;
esac
[ ! -s "$tally.unsteady" ] || cat "$tally.unsteady"
broken=$(awk 'NF > 3 { print $4 }' "$tally" | xargs)
[ ! -s "$tally.why" ] || cat "$tally.why"
[ -z "$broken" ] || echo "broken: $broken"
awk '{ passed += $1; failed += $2; skipped += $3 }
  END { printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped; exit failed > 0 }' "$tally"
