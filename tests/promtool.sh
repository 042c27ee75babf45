#!/usr/bin/env bash
# Unpacks Prometheus' promtool into a folder of its own, for the tests of the textfile of drift. Not installed: the package is a server.
set -euo pipefail
folder=${XDG_CACHE_HOME:-$HOME/.cache}/rocemesh/promtool
[ -x "$folder/promtool" ] && exit 0
packages=$(mktemp -d)
trap 'rm -rf "$packages"' EXIT
cd "$packages"
apt-get -qq -o APT::Sandbox::User=root download prometheus
dpkg --fsys-tarfile prometheus_*.deb | tar --extract ./usr/bin/promtool
mkdir -p "$folder"
mv usr/bin/promtool "$folder"
