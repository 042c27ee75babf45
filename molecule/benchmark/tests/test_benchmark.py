"""After a measurement nothing of it may be left in the containers."""


def test_no_ranks_are_left(host):
    with host.sudo():
        processes = host.check_output("docker top mpicont -eo pid,args")
    assert "orted" not in processes
    assert "/workspace/" not in processes
