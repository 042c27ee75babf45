"""What the profile current leaves on a GPU VM after an upgrade that was killed twice and met a full disk."""

DRIVER = "3.3.0-010000"


def test_the_new_driver_is_whole(host):
    assert host.package("doca-ofed").version == DRIVER
    assert host.package("mlnx-ofed-kernel-dkms").version == "26.01"
    assert host.file("/opt/mellanox/SIMULATED/tools").size == 600_000
    with host.sudo():
        assert host.check_output("dpkg --audit") == ""


def test_firmware_was_not_touched(host):
    assert not host.package("mlnx-fw-updater").is_installed
    assert not host.file("/etc/SIMULATED-firmware-was-burnt").exists


def test_the_repository_is_signed_by_its_own_key(host):
    source = host.file("/etc/apt/sources.list.d/rocemesh-doca.sources").content_string
    assert "Signed-By: /etc/apt/keyrings/rocemesh-doca.asc" in source
    assert "rusted" not in source
