# Runs in a guest: what its kernel says of the RDMA device, in the words of rdma_info, by other ways than that.
import json
import os
import subprocess


def out(*argv):
    return subprocess.run(argv, stdout=subprocess.PIPE, check=True).stdout.decode()


(link,) = json.loads(out("rdma", "-j", "link"))
(device,) = json.loads(out("rdma", "-j", "dev", "show", link["ifname"]))
(interface,) = json.loads(out("ip", "-j", "address", "show", link["netdev"]))
ipv4 = [a["local"] for a in interface["addr_info"] if a["family"] == "inet"]
place = os.path.realpath("/sys/class/infiniband/" + link["ifname"])
port = place + "/ports/1/"


def read(name):
    with open(port + name) as handle:
        return handle.read().strip()


mapped = ":ffff:{:02x}{:02x}:{:02x}{:02x}".format(*map(int, ipv4[0].split(".")))
v2 = [
    number
    for number in range(len(os.listdir(port + "gids")))
    if read(f"gids/{number}").endswith(mapped) and read(f"gid_attrs/types/{number}") == "RoCE v2"
]
print(
    json.dumps(
        {
            "device": {
                "name": link["ifname"],
                "port": link["port"],
                "netdev": link["netdev"],
                "state": link["state"],
                "netdev_mtu": interface["mtu"],
                "node_guid": device["node_guid"],
                "sys_image_guid": device["sys_image_guid"],
                # A link below /sys/devices/virtual is no function of a bus.
                "pci": None if "/virtual/" in place else place,
                "numa_node": None,
                "is_vf": False,
                "roce_gid_index": v2[0],
                "roce_gid_ipv4": ipv4[0],
                "active_mtu": max(size for size in (256, 512, 1024, 2048, 4096) if size <= interface["mtu"] - 76),
            },
            "addresses": [f"{a['local']}/{a['prefixlen']}" for a in interface["addr_info"]],
            "counters": [name for name in os.listdir(port + "hw_counters") if name != "lifespan"],
        }
    )
)
