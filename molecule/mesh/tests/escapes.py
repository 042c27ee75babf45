# ruff: noqa: E501 - shell, which is read best in one piece
"""What root in the container can try to become root of its node, or to be more than it was given. One shell each.

Each ends with status 0 only if it worked; `test_mesh.py` wants every one to fail, and plays a control for each kind.
"""

MOUNTS = {
    "mount_a_tmpfs": "mount -t tmpfs none /mnt",
    "mount_proc_again": "mkdir -p /tmp/p && mount -t proc proc /tmp/p",
    "mount_the_hosts_cgroups": "mkdir -p /tmp/c && mount -t cgroup -o memory none /tmp/c",
    "mount_cgroup2": "mkdir -p /tmp/c2 && mount -t cgroup2 none /tmp/c2",
    "mount_overlay": "mkdir -p /tmp/u /tmp/w /tmp/m && mount -t overlay o -o lowerdir=/,upperdir=/tmp/u,workdir=/tmp/w /tmp/m",
    "remount_the_mesh_writable": "mount -o remount,rw,bind /root/.ssh",
    "unmount_the_mesh": "umount /root/.ssh",
    "bind_over_the_mesh": "mount --bind /tmp /root/.ssh",
    "write_into_the_mesh": "touch /root/.ssh/x",
    "append_to_the_keys": "echo x >> /root/.ssh/authorized_keys",
    "replace_the_configuration": "cp /etc/hosts /root/.ssh/sshd_config",
    "make_the_key_readable": "chmod 644 /root/.ssh/id_ed25519_cont",
    "give_the_directory_away": "chown 1000 /root/.ssh",
    "remount_sys_writable": "mount -o remount,rw /sys",
    "remount_proc_sys_writable": "mount -o remount,rw /proc/sys",
}
KERNEL = {
    "core_pattern": "echo '|/tmp/x' > /proc/sys/kernel/core_pattern",
    "modprobe_program": "echo /tmp/x > /proc/sys/kernel/modprobe",
    "hotplug_program": "echo /tmp/x > /sys/kernel/uevent_helper",
    "binfmt": "echo ':x:M::x::/tmp/x:' > /proc/sys/fs/binfmt_misc/register",
    "release_agent": "for f in $(find /sys/fs/cgroup -name release_agent); do echo /tmp/x > $f && exit 0; done; exit 1",
    "cgroup_of_its_own": "mkdir /sys/fs/cgroup/memory/x 2>/dev/null || mkdir /sys/fs/cgroup/x",
    "sysrq": "echo h > /proc/sysrq-trigger",
    "read_kernel_memory": "head -c 1 /proc/kcore | grep -q .",
    "read_memory": "head -c 1 /dev/mem",
    "kernel_log": "dmesg --clear",
    "reboot": "python3 -c 'import ctypes,sys; sys.exit(ctypes.CDLL(None).reboot(0))'",
    "hostname": 'hostname evil && test "$(hostname)" = evil',
    "clock": "date -s '2001-01-01'",
    "bpf": "python3 -c 'import ctypes,sys; a=ctypes.create_string_buffer(72); sys.exit(ctypes.CDLL(None).syscall(321,5,a,72) < 0)'",
    "perf": "python3 -c 'import ctypes,sys; a=ctypes.create_string_buffer(112); sys.exit(ctypes.CDLL(None).syscall(298,a,-1,0,-1,0) < 0)'",
    "userfaultfd": "python3 -c 'import ctypes,sys; sys.exit(ctypes.CDLL(None).syscall(323,0) < 0)'",
    "open_by_handle": "python3 -c 'import ctypes,sys; b=(ctypes.c_int*4)(8,1,2,0); sys.exit(ctypes.CDLL(None).syscall(304,-100,b,0) < 0)'",
}
PROCESSES = {
    "namespaces_of_process_1": "nsenter -t 1 -a true",
    "new_user_namespace": "unshare -U -r true",
    "new_mount_namespace": "unshare -m true",
    "new_network": "unshare -n true",
    "new_pids": "unshare -p -f true",
    "setuid_gives_nothing": (
        "cp /bin/cat /tmp/cat && chmod u+s /tmp/cat && "
        'python3 -c \'import os;os.setgid(65534);os.setuid(65534);os.execv("/tmp/cat",["cat","/etc/shadow"])\''
    ),
    "file_capabilities": "cp /bin/cat /tmp/c1 && setcap cap_sys_admin+ep /tmp/c1",
    "su_of_another_user": 'python3 -c \'import os;os.setgid(65534);os.setuid(65534);os.execvp("su",["su","-c","id","root"])\' </dev/null',
    "files_of_others": "install -m 600 /dev/null /tmp/o && python3 -c 'import os;os.chown(\"/tmp/o\",1000,1000)'",
    "raise_its_limits": "prlimit --nofile=9999999:9999999 true",
    "real_time": "chrt -f 99 true",
    "higher_priority": "nice -n -10 sh -c 'test $(nice) -lt 0'",
    "root_of_the_engine": "test -S /var/run/docker.sock",
    "engine_of_the_node": "python3 -c 'import socket;socket.create_connection((\"127.0.0.1\",2375),2)'",
    "containerd": "test -S /run/containerd/containerd.sock",
    "systemd_of_the_node": "test -S /run/systemd/private || test -S /run/dbus/system_bus_socket",
}
NETWORK = {
    "raw_packets": "python3 -c 'import socket;socket.socket(socket.AF_INET,socket.SOCK_RAW,1)'",
    "packet_sockets": "python3 -c 'import socket;socket.socket(socket.AF_PACKET,socket.SOCK_RAW,0)'",
    "address": "ip address add 192.0.2.9/32 dev lo",
    "route": "ip route add 192.0.2.0/24 dev lo",
    "link_down": "ip link set lo mtu 1500",
    "promiscuous": "ip link set eth0 promisc on",
    "bridge": "ip link add evil type dummy",
    "firewall": "python3 -c 'import socket;s=socket.socket(socket.AF_INET,socket.SOCK_RAW,255)'",
    "tun": "python3 -c 'import os;os.open(\"/dev/net/tun\",2)'",
}
DEVICES = {
    "make_a_disk": "mknod /tmp/d b 8 0 && head -c 1 /tmp/d",
    "make_memory": "mknod /tmp/mem c 1 1 && head -c 1 /tmp/mem",
    "open_kmsg": "head -c 1 /dev/kmsg",
    "fuse": "python3 -c 'import os;os.open(\"/dev/fuse\",2)'",
    "disks": "ls /dev/sda /dev/vda /dev/nvme0n1",
}
ESCAPES = {**MOUNTS, **KERNEL, **PROCESSES, **NETWORK, **DEVICES}
