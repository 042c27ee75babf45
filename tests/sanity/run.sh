#!/usr/bin/env bash
# ansible-test wants the collection at ansible_collections/<namespace>/<name>: a copy of what is shipped, which is what
# Galaxy and its users check. Tests and lab have ruff and mypy.
# Its virtual environments, one per kind of test, are kept in ${ROCEMESH_CACHE:-.build}/ansible-test: making them is most of
# the time of a first run.
set -euo pipefail
cd "$(dirname "$0")/../.."
python=$(python -c 'import sys; print("%d.%d" % sys.version_info[:2])')
cache=$(realpath -m "${ROCEMESH_CACHE:-.build}/ansible-test")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
target="$work/ansible_collections/rocemesh/multinode"
mkdir -p "$target"
{ python .ci/tarball.py --list; echo tests/config.yml; } | tar -cf - --files-from - | tar -C "$target" -xf -
# ansible-test keeps what it makes under HOME. A home of its own leaves that of the user alone; pip's settings go along.
mkdir -p "$cache/.ansible/test/cache" "$cache/.config"
for settings in .config/pip .pip; do
  [ ! -d "$HOME/$settings" ] || [ "$HOME" = "$cache" ] || ln -sfn "$HOME/$settings" "$cache/$settings"
done
# What its environments install is compiled where it is imported, and not all of it by pip.
[ -e "$cache/.pip" ] || { mkdir "$cache/.pip"; printf '[install]\ncompile = no\n' > "$cache/.pip/pip.conf"; }
export HOME=$cache
# It bootstraps pip from a site of its own; the stand-in uses the interpreter's own ensurepip and the machine's index.
for version in 20_3_4 21_3_1 23_1_2 24_2; do
  cp tests/sanity/get_pip_stand_in.py "$HOME/.ansible/test/cache/get_pip_$version.py"
done
cd "$target"
git init -q . && git add -A
ansible-test sanity --python "$python" --color no "$@"
