#!/usr/bin/env bash
# Prepares this machine: packages that are missing, and <repository>/.venv with what pyproject.toml lists.
#   lab/bootstrap.sh [--dev]     --dev: the tools of developers too
# Quick when everything is there. Exit status 2 and one line: something is missing that it may not install.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# Where Debian keeps iptables and debootstrap; not on the PATH of ordinary users.
PATH=$PATH:/usr/sbin:/sbin

extras=(lab)
case "${1:-}" in
  "") ;;
  --dev) extras+=(dev) ;;
  *)
    echo "usage: lab/bootstrap.sh [--dev]" >&2
    exit 64
    ;;
esac
have() { command -v "$1" > /dev/null 2>&1; }

# --- packages ---------------------------------------------------------------------------------------------------------
missing=()
need() { have "$1" || missing+=("$2"); }
need ip iproute2
need ssh openssh-client
need iptables iptables
need zstd zstd
need debootstrap debootstrap
if [ "${extras[*]}" != lab ]; then
  # What tests skip without; tests/run.sh counts such a skip as a failure.
  # The mesh tests run a private sshd on a loopback port.
  need sshd openssh-server
  need sudo sudo
  need strace strace
  # Driver packages are built, signed and installed on a throw-away disk.
  need dpkg-scanpackages dpkg-dev
  need gpg gnupg
  /usr/bin/python3 -c 'import apt' > /dev/null 2>&1 || missing+=(python3-apt)
  # The files of the repository are those that git knows; the galaxy importer reads them so too.
  need git git
  # The report is opened in a browser.
  have chromium-browser || have google-chrome || need chromium chromium
  # Jobs are launched over real sshd; ranks train with Debian's torch, in the system's Python.
  need mpirun openmpi-bin
  /usr/bin/python3 -c 'import torch, torchvision' > /dev/null 2>&1 || missing+=(python3-torch python3-torchvision libopenblas0-pthread)
  # A hand-off runs under a real Slurm, on this machine alone.
  need slurmctld slurmctld
  need slurmd slurmd
  need sbatch slurm-client
  need munged munge
  # The stock simulator, which the vSphere modules have to agree with, is built from Debian's package of it.
  need go golang-go
  [ -d /usr/share/gocode/src/github.com/vmware/govmomi ] || missing+=(golang-github-vmware-govmomi-dev)
fi
[ -e /usr/share/keyrings/debian-archive-keyring.gpg ] || missing+=(debian-archive-keyring)
# An engine that answers is enough; else the lab starts one of its own.
have dockerd || { have docker && docker info > /dev/null 2>&1; } || missing+=(docker.io)

# The distribution's Python first: it is built with profile-guided optimization, which a version manager's seldom is.
# A shim may stand first on PATH and start nothing, and Debian's python3 has no ensurepip until python3-venv is there:
# so each candidate has to show what it can.
usable_python() {
  local candidate
  for candidate in /usr/bin/python3 python3 python3.{14,13,12,11,10}; do
    if "$candidate" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))' > /dev/null 2>&1; then
      "$candidate" -c 'import os, sys; print(os.path.realpath(sys.executable))'
      return
    fi
  done
}

stamp=.venv/.rocemesh-$(IFS=-; echo "${extras[*]}")
digest=$(sha256sum < pyproject.toml)
venv_current() { [ -x .venv/bin/python ] && [ "$(cat "$stamp" 2> /dev/null)" = "$digest" ]; }

python=
if ! venv_current; then
  python=$(usable_python)
  [ -n "$python" ] || missing+=(python3-venv)
fi

as_root=()
if [ "${#missing[@]}" -gt 0 ]; then
  if [ "$(id -u)" -ne 0 ]; then
    as_root=(sudo -n)
    sudo -n true > /dev/null 2>&1 || as_root=(false)
  fi
  if ! have apt-get || [ "${as_root[*]}" = false ]; then
    echo "lab/bootstrap.sh: missing: ${missing[*]} (Debian names); install them, or run this as root on Debian or Ubuntu" >&2
    exit 2
  fi
fi
install_packages() {
  local log=$work/apt.log
  echo "installing packages: ${missing[*]}"
  install() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"; }
  if ! install > "$log" 2>&1; then
    # Perhaps the package lists are old, or there are none yet.
    "${as_root[@]}" apt-get update -qq >> "$log" 2>&1 || true
    if ! install >> "$log" 2>&1; then
      tail -n 20 "$log" >&2
      echo "lab/bootstrap.sh: missing: ${missing[*]}; apt-get could not install them (above)" >&2
      exit 2
    fi
  fi
}

# --- Python -----------------------------------------------------------------------------------------------------------
make_venv() {
  echo "python environment: .venv ($("$python" --version), ${extras[*]})"
  if ! .venv/bin/python -c 'import pip' > /dev/null 2>&1; then
    rm -rf .venv
    "$python" -m venv .venv
  fi
  # Lists, not `pip install .`: the repository is a collection, there is no Python package in it to build.
  .venv/bin/python - "${extras[@]}" > "$work/requirements" << 'PYTHON'
import sys

try:
    import tomllib
except ImportError:  # Python 3.10
    from pip._vendor import tomli as tomllib

with open("pyproject.toml", "rb") as stream:
    project = tomllib.load(stream)["project"]
wanted = list(project["dependencies"])
for extra in sys.argv[1:]:
    wanted += project["optional-dependencies"][extra]
print("\n".join(wanted))
PYTHON
  # Index, proxy and certificates: whatever this machine's own pip configuration says.
  # Of the 22,000 files most are never imported: those that are get compiled then, and not all by pip on one core.
  .venv/bin/python -m pip install -qq --disable-pip-version-check --no-compile --requirement "$work/requirements"
  echo "$digest" > "$stamp"
  # What --dev installed contains what the lab needs.
  [ "${#extras[@]}" -eq 1 ] || echo "$digest" > .venv/.rocemesh-lab
}

work=$(mktemp -d)
beside=
clean_up() {
  # pip and what it has started are one process group.
  [ -z "$beside" ] || kill -- "-$beside" 2> /dev/null || true
  rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 130' INT TERM
# Where Python is there already, its packages are fetched while the system's are.
if [ "${#missing[@]}" -gt 0 ] && [ -n "$python" ]; then
  set -m
  make_venv > "$work/venv.log" 2>&1 < /dev/null &
  beside=$!
  set +m
fi
[ "${#missing[@]}" -eq 0 ] || install_packages
if [ -n "$beside" ]; then
  # What failed is tried again below, and says why.
  if wait "$beside"; then cat "$work/venv.log"; fi
  beside=
fi
if ! venv_current; then
  [ -n "$python" ] || python=$(usable_python)
  if [ -z "$python" ]; then
    echo "lab/bootstrap.sh: missing: a Python from 3.10 on that can make virtual environments" >&2
    exit 2
  fi
  make_venv
fi
case " ${extras[*]} " in *" dev "*) tests/network_tools.sh && tests/promtool.sh ;; esac
