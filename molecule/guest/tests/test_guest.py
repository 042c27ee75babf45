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
        assert host.run("grep -rl 'mtu: 9000' /etc/netplan").rc == 0


def test_firmware_was_not_touched(host):
    with host.sudo():
        query = host.run("flint -d 3b:00.0 q")
    assert "22.31.1014" in query.stdout
