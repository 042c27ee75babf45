"""What a GPU VM must look like from inside."""


def test_ats_is_stored_for_the_next_boot_of_the_host(host):
    with host.sudo():
        query = host.run("mlxconfig -d 3b:00.0 -e query ATS_ENABLED")
    assert query.rc == 0
    row = next(line for line in query.stdout.splitlines() if "ATS_ENABLED" in line)
    assert row.split()[-1] == "True(1)"


def test_jumbo_frames_now_and_after_a_reboot(host):
    assert host.interface("eth0").exists
    assert host.file("/sys/class/net/eth0/mtu").content_string.strip() == "9000"
    with host.sudo():
        stored = host.file("/etc/systemd/network/10-netplan-eth0.network.d/90-rocemesh-mtu.conf").content_string
        assert stored.splitlines()[-2:] == ["[Link]", "MTUBytes=9000"]
        assert host.run("grep -rl mtu /etc/netplan").rc != 0, "netplan's own files are the site's"


def test_firmware_was_not_touched(host):
    with host.sudo():
        query = host.run("flint -d 3b:00.0 q")
    assert "22.31.1014" in query.stdout
