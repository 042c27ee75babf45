#!/usr/bin/env bash
# The same reads as a site.yml run with nothing to change, as an engineer would script them: ssh, curl, docker, mpirun.
# Ends with rc 0 only if every layer is as wanted. Usage: same_checks.sh LAB_DIR [BATCHES WARMUP BATCH_SIZE]; with these it
# runs the jobs as well.
set -euo pipefail
lab=$1 batches=${2:-} warmup=${3:-} size=${4:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
say() { printf '%s\n' "$1" >&2; exit 1; }

# --- switch: the password reaches ssh through a helper, not through the command line
printf '#!/bin/sh\ncat "%s/secrets/switch_password"\n' "$lab" > "$work/askpass"; chmod 700 "$work/askpass"
printf '%s\n' enable 'no cli session paging enable' 'show version' 'show roce' 'show vlan' 'show interfaces ethernet 1/1-1/4' \
  'show interfaces switchport' 'show configuration files' exit |
  SSH_ASKPASS="$work/askpass" SSH_ASKPASS_REQUIRE=force ssh -T -p 2222 -o UserKnownHostsFile="$lab/ssh/known_hosts" \
    -o StrictHostKeyChecking=yes -o PubkeyAuthentication=no admin@127.78.0.2 > "$work/switch" 2> /dev/null || true
grep -q 'lossless' "$work/switch" || say "switch: RoCE is not lossless"
grep -q 'L3' "$work/switch" || say "switch: trust is not L3"
[ "$(grep -c '9216 bytes' "$work/switch")" -ge 4 ] || say "switch: MTU is not 9216 on four ports"

# --- vCenter
body() { printf '<?xml version="1.0"?><e:Envelope xmlns:e="http://schemas.xmlsoap.org/soap/envelope/" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><e:Body>%s</e:Body></e:Envelope>' "$1" > "$work/body"; }
soap() {
  body "$1"
  curl -sS --cacert "$lab/pki/ca.crt" -b "$work/jar" -c "$work/jar" -H 'Content-Type: text/xml' -H 'SOAPAction: urn:vim25/6.5' \
    --data-binary "@$work/body" https://127.78.0.3:8443/sdk
}
value() { tr -d '\n' | sed -nE 's/.*<returnval[^>]*>([^<]*)<.*/\1/p'; }
soap "<Login xmlns=\"urn:vim25\"><_this type=\"SessionManager\">SessionManager</_this><userName>administrator@vsphere.local</userName><password>$(cat "$lab/secrets/vcenter_password")</password></Login>" |
  grep -q LoginResponse || say "vCenter: no login"
for host in esx01 esx02; do
  moid=$(soap "<FindByInventoryPath xmlns=\"urn:vim25\"><_this type=\"SearchIndex\">SearchIndex</_this><inventoryPath>/lab-dc/host/lab/$host</inventoryPath></FindByInventoryPath>" | value)
  executer=$(soap "<RetrieveManagedMethodExecuter xmlns=\"urn:vim25\"><_this type=\"HostSystem\">$moid</_this></RetrieveManagedMethodExecuter>" | value)
  soap "<ExecuteSoap xmlns=\"urn:vim25\"><_this type=\"ReflectManagedMethodExecuter\">$executer</_this><moid>ha-cli-handler-system-settings-kernel</moid><version>urn:vim25/5.0</version><method>vim.EsxCLI.system.settings.kernel.list</method><argument><name>option</name><val>&lt;option&gt;atsSupport&lt;/option&gt;</val></argument></ExecuteSoap>" |
    grep -q 'Runtime&gt;TRUE' || say "$host: atsSupport is not in force"
done
for vm in gpu01 gpu02 gpu03 gpu04; do
  moid=$(soap "<FindByInventoryPath xmlns=\"urn:vim25\"><_this type=\"SearchIndex\">SearchIndex</_this><inventoryPath>/lab-dc/vm/$vm</inventoryPath></FindByInventoryPath>" | value)
  soap "<RetrieveProperties xmlns=\"urn:vim25\"><_this type=\"PropertyCollector\">propertyCollector</_this><specSet><propSet><type>VirtualMachine</type><pathSet>config.extraConfig</pathSet></propSet><objectSet><obj type=\"VirtualMachine\">$moid</obj></objectSet></specSet></RetrieveProperties>" |
    grep -q 'pciPassthru.allowP2P' || say "$vm: allowP2P is not set"
done

# --- nodes
node() { ssh -p 2222 -i "$lab/ssh/controller_ed25519" -o IdentitiesOnly=yes -o UserKnownHostsFile="$lab/ssh/known_hosts" -o StrictHostKeyChecking=yes "nvidia@127.78.0.$1" "${@:2}" 2> /dev/null; }
for number in 11 12 13 14; do
  # shellcheck disable=SC2016 # the node expands it
  node "$number" 'set -e
    sudo mlxconfig -d 3b:00.0 -e query ATS_ENABLED | grep -q "ATS_ENABLED .*True(1) *True(1)"
    [ $((0x$(sudo setpci -s 3b:00.0 ECAP_ATS+6.w) & 0x8000)) -ne 0 ]
    [ "$(cat /sys/class/net/eth0/mtu)" = 9000 ]
    sudo grep -q "restrict,from=" /etc/rocemesh/mesh/container/authorized_keys
    [ "$(sudo docker inspect -f "{{.State.Running}}" mpicont)" = true ]
    sudo docker exec mpicont sh -c "ulimit -l; ulimit -s; df -Pk /dev/shm" > /dev/null' || say "node 127.78.0.$number is not as wanted"
done

# --- run
[ -n "$batches" ] || exit 0
mpi() { # seconds, ranks program...
  node 11 sudo docker exec mpicont timeout -k 5 "$1" mpirun --allow-run-as-root -H 10.78.0.11:1,10.78.0.12:1,10.78.0.13:1,10.78.0.14:1 -np 4 \
    -mca btl_tcp_if_include 10.78.0.0/24 -mca oob_tcp_if_include 10.78.0.0/24 -bind-to none -map-by slot "${@:2}"
}
[ "$(mpi 120 hostname | sort | tr '\n' ' ')" = "gpu01 gpu02 gpu03 gpu04 " ] || say "mpirun hostname: not all nodes"
[ "$(mpi 120 nvidia-smi -L | grep -c '^GPU 0')" = 4 ] || say "nvidia-smi: not all nodes"
mpi 120 python3 /workspace/checks/allreduce.py 4 > "$work/sum" || say "allreduce failed"
mpi 600 -x OMP_NUM_THREADS=1 python3 /workspace/resnet50/resnet50.py --batch_size "$size" --image_size 64 --num_batches "$batches" \
  --num_warmup_batches "$warmup" --display_every 5 --threads 1 --master_addr 10.78.0.11 --interface_cidr 10.78.0.0/24 > "$work/train" || say "training failed"
grep -q 'total images/sec' "$work/train" || say "no figures"
