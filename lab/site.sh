#!/usr/bin/env bash
# The whole guide on the twin. The lab is the one place where a restart needs no further word: it is simulated.
set -euo pipefail
cd "$(dirname "$0")/.."
started=$(date +%s)
rc=0
ansible-playbook playbooks/site.yml -i inventories/lab -e rocemesh_allow_reboot=true "$@" || rc=$?
if [ "$rc" -ne 0 ]; then
  echo "site.yml stopped with rc $rc. Nothing needs cleaning up: fix what the last message names and run the same command again."
  exit "$rc"
fi
echo
echo "site.yml: $(( $(date +%s) - started )) s"
python -m lab stages reports/latest/summary.json
echo "Report (SIMULATED devices): $(pwd)/reports/latest/report.html"
