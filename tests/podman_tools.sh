#!/usr/bin/env bash
# Fetches the packages of the distribution's Podman, and of a registry for it, for tests/integration/podman, which installs them on a
# throw-away disk. They are not installed: this machine keeps its own engine.
set -euo pipefail
folder=${ROCEMESH_PODMAN:-${XDG_CACHE_HOME:-$HOME/.cache}/rocemesh/podman}
compgen -G "$folder/podman_*.deb" > /dev/null && exit 0
packages=$(mktemp -d)
trap 'rm -rf "$packages"' EXIT
mkdir -p "$packages/partial"
# With what they depend on, as far as this machine does not have it.
apt-get -qq -y -o APT::Sandbox::User=root -o Dir::Cache::archives="$packages" --no-install-recommends --download-only install \
  podman crun catatonit netavark skopeo docker-registry busybox-static
mkdir -p "$folder"
mv "$packages"/*.deb "$folder"
