#!/usr/bin/env bash
# Unpacks netplan's generator, nmcli and ifquery into a folder of their own, for the tests of the guests' networks. They are not
# installed: NetworkManager and ifupdown would take over the interfaces of this machine.
set -euo pipefail
folder=${ROCEMESH_NETWORK_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/rocemesh/network-tools}
[ -x "$folder/usr/libexec/netplan/generate" ] && [ -x "$folder/usr/bin/nmcli" ] && exit 0
packages=$(mktemp -d)
trap 'rm -rf "$packages"' EXIT
cd "$packages"
apt-get -qq -o APT::Sandbox::User=root download netplan.io libnetplan0 network-manager libnm0 ifupdown
mkdir -p "$folder"
for package in ./*.deb; do
  dpkg -x "$package" "$folder"
done
