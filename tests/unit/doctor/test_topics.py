"""Lines that a person wrote are at least about something; words for trouble come behind what says more."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._doctor.catalogue import catalogue
from ansible_collections.rocemesh.multinode.plugins.module_utils._doctor.doctor import diagnose

GOOD = "gpu01:1:1 [0] NCCL INFO Connected all rings\n"


def ask(text: str) -> dict[str, Any]:
    return diagnose(None, {"unknown.log": text + "\n"})


def causes(found: dict[str, Any]) -> list[str]:
    return [finding["cause"] for finding in found["findings"]]


def _layers(found: dict[str, Any]) -> list[str]:
    return [finding["layer"] for finding in found["findings"]]


@pytest.mark.parametrize(
    ("cause", "text"),
    (
        ("gid_wrong", "the GIDs of the second port look odd to us"),
        ("mtu_differs", "somebody touched the jumbo settings of the hosts"),
        ("acs_redirects", "is VT-d to blame for the numbers of these two?"),
        ("passthrough_device", "the hostdev of the third guest is a mystery"),
        ("nic_qos_differs", "DSCP values were taken from the guide"),
        ("link_faulty", "we took the QSFP from another rack"),
        ("numa_bios_setting", "what NPS should this BIOS have?"),
        ("guest_ofed_mismatch", "frobnicator: fatal: DOCA exploded"),
        ("guest_ofed_mismatch", "frobnicator: fatal: the driver of the HCA exploded"),
        ("gid_wrong", "is FOO_IB_GID_INDEX=1 right here?"),
        ("gdr_distance", "topo of the second NUMA node looks odd"),
        ("acs_redirects", "PCIe ACS is a word at the beginning of a line"),
    ),
)
def test_a_line_that_no_rule_knows_names_a_layer_by_what_it_is_about(cause: str, text: str) -> None:
    found = ask(text)
    assert (causes(found)[:1], found["verdict"]) == ([cause], "cannot_tell")
    assert found["next"]


def test_topics_are_silent_where_a_rule_speaks_or_nothing_is_wrong() -> None:
    beside_a_rule = ask("kernel: NVRM: Xid (PCI:0000:3b:00): 79, pid=1\nthe GIDs of this host")
    assert "gid_wrong" not in causes(beside_a_rule)
    healthy = ask(GOOD + "DSCP values were taken from the guide")
    assert healthy["verdict"] == "no_fault_seen"
    piece = {"hosts/gpu01/dmesg.txt": "frobnicator: fatal: DOCA exploded\n"}
    assert diagnose(None, piece)["findings"] == []


def test_topics_read_troubled_lines_alone_beside_good_words_and_in_long_logs() -> None:
    found = ask(GOOD + "DSCP values were taken from the guide\nfrobnicator: fatal: DOCA exploded")
    assert causes(found)[0] == "guest_ofed_mismatch"
    assert "nic_qos_differs" not in causes(found)
    long = ask("hello world\n" * 100 + "DSCP values were taken from the guide")
    assert causes(long) == []


ENDED = "Iter #0: 1500.0 img/sec per GPU\nTotal img/sec on 2 GPU(s): 3000.0 +-4.3\n"
HARMLESS = (
    "WARNING: Log validation: key of dockerx is not in the list of the network",
    "WARNING:apex.optimizers:",
    "Please do not use the interface of this driver, use the other one instead",
    "the job hangs if two programs share a port",
)


@pytest.mark.parametrize("line", HARMLESS)
def test_words_beside_a_job_that_ended_name_no_cause_and_are_shown(line: str) -> None:
    found = ask(ENDED + line)
    assert (found["verdict"], causes(found)) in (("no_fault_seen", []), ("healthy", []))
    if "hangs" not in line:
        assert [gap["code"] for gap in found["not_shown"]] == ["line"]
        assert [entry["text"] for entry in found["unknown"]] == [line]
    assert ask(f"step 1 of 4\n{line}")["verdict"] == "cannot_tell"


def test_advice_in_a_long_log_names_no_cause_but_a_failure_does() -> None:
    long = "".join(f"step {n} of 100 loss 1.0\n" for n in range(70))
    assert ask(f"{long}{HARMLESS[2]}")["verdict"] == "no_fault_seen"
    found = ask(f"{long}frobnicator: fatal: DOCA exploded")
    assert (found["verdict"], causes(found)) == ("cannot_tell", ["application_failed"])


def test_the_name_of_a_source_file_is_no_subject() -> None:
    place = "tensorflow/core/kernels/data/op.cc:103"
    said = [causes(ask(f"{subject}: Error occurred")) for subject in (place, "a kernel")]
    assert ["kernel_fault" in found for found in said] == [False, True]


@pytest.mark.parametrize(
    "line",
    (
        "RuntimeWarning: os.fork() was called, this will likely lead to a deadlock",
        "Namespace(data='a', freeze_bn=False, hard_weight=0.5)",
        "'stderrthreshold': 'fatal',",
        "# Errors with asterisks indicate errors that have exceeded the maximum threshold.",
    ),
)
def test_data_and_warnings_for_authors_are_no_trouble(line: str) -> None:
    found = ask(ENDED + line)
    assert (found["verdict"], found["unknown"]) == ("healthy", [])


def test_where_nothing_failed_no_host_that_failed_is_asked_for() -> None:
    asked = [question["where"] for question in ask("step 1 of 4 loss 1.0")["next"]]
    assert asked and not any("failed" in where for where in asked)


def test_who_says_what_fails_stands_before_a_word_for_trouble() -> None:
    found = ask("the job hangs\nkvm: vfio: Unable to power on device, stuck in D3\nit is slow, too")
    assert causes(found)[0] == "device_does_not_reset"


def test_every_topic_names_causes_that_exist() -> None:
    assert {cause for topic in catalogue().topics for cause in topic.causes} <= catalogue().causes.keys()


@pytest.mark.parametrize(
    ("cause", "text"),
    (
        (
            "gid_wrong",
            "NCCL_IB_GID_INDEX=1\nGID[  1]: fe80::ac0:ebff:fe00:1, RoCE v2\nGID[  3]: ::ffff:192.0.2.6, RoCE v2",
        ),
        ("mtu_differs", "port A active_mtu=4096\nport B active_mtu=1024\nremote invalid request, the job hangs"),
    ),
)
def test_two_lines_that_do_not_fit_are_compared(cause: str, text: str) -> None:
    assert causes(ask(text))[0] == cause


def test_an_index_that_fits_and_tables_of_interfaces_say_nothing() -> None:
    table = "GID[  1]: fe80::ac0:ebff:fe00:1, RoCE v2\nGID[  3]: ::ffff:192.0.2.6, RoCE v2\n"
    assert ask(GOOD + table + "NCCL_IB_GID_INDEX=3")["verdict"] == "no_fault_seen"
    tables = "2: ens224: <BROADCAST,UP,LOWER_UP> mtu 9000 qdisc mq\n3: docker0: <UP,LOWER_UP> mtu 1500 qdisc noqueue\n"
    assert "mtu_differs" not in causes(ask(tables + "the job hangs"))


@pytest.mark.parametrize(
    ("layer", "line"),
    (
        ("container", "widgetd: the pod could not be frobbed"),
        ("gpu_driver", "widgetd: the nvidia thing is in the wrong state"),
        ("mpi_launch", "widgetd: hostfile line 3 is bad"),
        ("host_routing", "widgetd: hostname with a bad letter"),
        ("run_env", "widgetd: wrong environment"),
        ("application", "widgetd: bad checkpoint"),
    ),
)
def test_an_unknown_trouble_leads_to_what_it_speaks_of_as_a_candidate(layer: str, line: str) -> None:
    found = diagnose(None, {"a.log": line + "\n"})
    assert found["verdict"] == "cannot_tell"
    assert _layers(found)[0] == layer
    assert {finding["certainty"] for finding in found["findings"]} == {"candidate"}
    assert found["settled"] == ""
    assert found["next"]


def test_what_a_rule_says_stands_before_what_a_line_speaks_of() -> None:
    found = diagnose(None, {"a.log": "RuntimeError: the pod has a bad nvidia driver on this host\n"})
    assert _layers(found) == ["application"]


def test_where_the_lines_state_their_cause_nothing_is_guessed() -> None:
    found = diagnose(None, {"a.log": "NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.\nbad pod\n"})
    assert _layers(found) == ["gpu_hardware"]


def test_of_a_site_that_was_read_machine_by_machine_nothing_is_guessed() -> None:
    text = "widgetd: the pod could not be frobbed\n"
    found = diagnose(None, {"hosts/gpu01/a.txt": text, "hosts/gpu01/mtu.txt": "Unable to open device mlx5_0\n"})
    assert "container_down" not in [finding["cause"] for finding in found["findings"]]


def test_a_symptom_says_less_than_the_plain_words_of_another_line() -> None:
    found = ask("Failed to modify QP to RTR ... timed out [110]\nthe GIDs of the second port look odd to us")
    assert causes(found)[0] == "gid_wrong"
    assert "no_path_between_nics" in causes(found)
