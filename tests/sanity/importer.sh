#!/usr/bin/env bash
# Builds the collection as Galaxy would get it and runs Galaxy's own importer on it.
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/source"
git ls-files -z --cached --others --exclude-standard | tar --null -T - -cf - | tar -C "$work/source" -xf -
(cd "$work/source" && ansible-galaxy collection build --output-path "$work" . )
cd "$work"
python -m galaxy_importer.main "$work"/rocemesh-multinode-*.tar.gz | tee importer.log
if grep -E "^(ERROR|.*ERROR:)" importer.log; then exit 1; fi
grep -q "Importer processing completed successfully" importer.log
