"""GPU VMs as QEMU machines (shape ``vm``): a guest with Debian's kernel, whose lspci, RDMA and reboots are its own.

A VM is a container as in the other shapes, so that everything that starts, stops, finds and removes VMs is the same;
but what runs in it is the machine (``chassis/chassis``) and no systemd; its network card has the container's cable.
"""
