"""What the profile guide leaves on a GPU VM after a replacement that was killed twice and met a full disk."""

DRIVER = "5.2-OFED.5.2.2.2.4.1"


def test_the_new_driver_is_whole(host):
    assert host.package("mlnx-ofed-kernel-dkms").version == DRIVER
    assert host.file("/opt/mellanox/SIMULATED/tools").size == 600_000
    assert not host.file("/var/cache/rocemesh/unfinished").exists
    with host.sudo():
        assert host.check_output("dpkg --audit") == ""


def test_firmware_was_not_touched(host):
    assert not host.file("/etc/SIMULATED-firmware-was-burnt").exists
    runs = host.file("/etc/SIMULATED-installer-arguments").content_string.splitlines()
    assert set(runs) == {"--force --without-fw-update -q"}
