#!/usr/bin/env python3
"""SIMULATED perftest: ib_write_bw and ib_send_lat over TCP, with the output of the real ones; its name decides which.

Devices are interfaces (STAND_IN_DEVICES, "mlx5_0=r0 mlx5_1=r1"); a line rate of 40 Mbit/s stands for 400 Gb/s: many
fit on a small machine, and a slower way is still slower. STAND_IN_FAULTS names devices that refuse (gid:mlx5_0).
"""

import os
import socket
import sys
import time

SCALE = 10_000  # 1 bit/s stands for so many
RATE = 40e6 / 8  # bytes/s
CHUNK = 8192


def main(words):
    name = os.path.basename(words[0])
    options, address, index = {}, "", 1
    while index < len(words):
        if words[index] in ("-d", "-p", "-x", "-D", "-s", "-n", "--tclass", "-S", "-q"):
            options[words[index]] = words[index + 1]
            index += 1
        elif not words[index].startswith("-"):
            address = words[index]
        index += 1
    device, port, seconds = options["-d"], int(options["-p"]), float(options.get("-D", "1"))
    interfaces = dict(each.split("=") for each in os.environ["STAND_IN_DEVICES"].split())
    if device not in interfaces:
        print(f" IB device {device} not found\n Unable to find the Infiniband/RoCE device")
        return 1
    stream = connect(interfaces[device], port, address)
    if stream is None:
        print(
            f" Couldn't connect to {address}:{port}\n Unable to open file descriptor for socket connection"
            " Unable to init the socket connection"
        )
        return 1
    if "gid:" + device in os.environ.get("STAND_IN_FAULTS", "").split():
        print(" Failed to modify QP 142 to RTR\n Unable to Connect the HCA's through the link")
        return 1
    print("SIMULATED: TCP at 40 Mbit/s stands for RDMA at 400 Gb/s")
    print("-" * 87)
    print("                    %s" % ("Send Latency Test" if "lat" in name else "RDMA_Write BW Test"))
    print(
        " Device         : {}\n Mtu             : 4096[B]\n Link type       : Ethernet\n GID index       : {}".format(
            device, options.get("-x")
        )
    )
    try:
        return (latency if "lat" in name else bandwidth)(
            stream, bool(address), seconds, int(options.get("-s", "65536"))
        )
    except OSError:
        print(" Completion with error at client\n Failed status 12: wr_id 0 syndrom 0x81")
        return 1


def connect(interface, port, address):
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.setsockopt(socket.SOL_SOCKET, 25, interface.encode() + b"\0")
    if not address:
        sock.bind(("", port))
        sock.listen(1)
        return sock.accept()[0]
    sock.settimeout(1)
    try:
        sock.connect((address, port))
    except OSError:
        return None
    sock.settimeout(None)
    return sock


def bandwidth(stream, client, seconds, size):
    total, begin = 0, time.monotonic()
    if client:
        while time.monotonic() - begin < seconds:
            ahead = total / RATE - (time.monotonic() - begin)
            if ahead > 0:
                time.sleep(ahead)
            total += stream.send(bytes(CHUNK))
        stream.shutdown(socket.SHUT_WR)
        arrived = stream.recv(64).split()
        total, took = int(arrived[0]), max(seconds, float(arrived[1]))
    else:
        while True:
            data = stream.recv(65536)
            if not data:
                break
            total += len(data)
        took = time.monotonic() - begin
        stream.sendall(b"%d %f" % (total, took))
    gigabits = total * 8 * SCALE / took / 1e9
    print(" #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]")
    print(
        f" {size}      {total}             0.00               {gigabits:.2f}"
        f"              {gigabits * 1e9 / 8 / size / 1e6:.6f}"
    )
    return 0


def latency(stream, client, seconds, _size):
    stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    times, end = [], time.monotonic() + seconds
    while client and time.monotonic() < end:
        start = time.monotonic()
        stream.sendall(b"xx")
        stream.recv(2)
        times.append((time.monotonic() - start) * 1e6 / 2)
    while not client:
        data = stream.recv(2)
        if not data:
            return 0
        stream.sendall(data)
    times.sort()
    middle = times[len(times) // 2]
    print(
        " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   "
        "99% percentile[usec]   99.9% percentile[usec]"
    )
    print(
        f" 2       {len(times)}          {times[0]:.2f}           {times[-1]:.2f}         {middle:.2f}     \t       "
        f"{sum(times) / len(times):.2f}   0.11  {times[-1]:.2f}   {times[-1]:.2f}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
