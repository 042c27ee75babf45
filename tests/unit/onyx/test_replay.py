"""Replays of published sessions: what a real switch printed, character by character, against the conversation code.

The lines are facts from vendor documents and from other people's transcripts (see docs/not-verified.md for what nobody
has published); the simulator has no part in them.
"""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import (
    ApplyError,
    CredentialError,
    RefusedError,
    UnreachableError,
)
from ansible_collections.rocemesh.multinode.plugins.module_utils._onyx import state as parsing
from ansible_collections.rocemesh.multinode.plugins.module_utils._onyx import transport
from ansible_collections.rocemesh.multinode.plugins.module_utils._switch.ssh import Settings

HOST = "sw01"
LOGIN = """
Last login: Tue Feb 23 17:05:21 UTC 2021 from 10.252.1.9 on pts/0
Number of total successful connections since last 1 days: 5

Mellanox Switch

"""


class Channel:
    closed = False
    eof_received = False

    def __init__(self, connection: Tape) -> None:
        self._connection = connection

    def recv_ready(self) -> bool:
        return bool(self._connection.pending)

    def get_transport(self) -> Any:
        return self

    def is_active(self) -> bool:
        return not self._connection.hung_up


class Tape:
    """A connection that plays a recording: ``script`` maps a typed line to what is printed after its echo.

    ``size``: characters per read; ``echo``: whether typed lines come back.
    """

    def __init__(self, opening: str, script: dict[str, str], size: int = 0, echo: bool = True) -> None:
        self.pending = opening
        self.typed: list[str] = []
        self.hung_up = False
        self.remote_conn = Channel(self)
        self._script = script
        self._size = size
        self._echo = echo

    def write_channel(self, text: str) -> None:
        line = text.rstrip("\n")
        self.typed.append(line)
        if line not in self._script:
            raise AssertionError(f"typed {line!r}, which is not in the recording")
        self.pending += ((line if self._echo else "") + "\n" + self._script[line]).replace("\n", "\r\n")

    def read_channel(self) -> str:
        size = self._size or len(self.pending)
        data, self.pending = self.pending[:size], self.pending[size:]
        return data

    def disconnect(self) -> None:
        self.hung_up = True


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "_QUESTION_SECONDS", 0.02)
    monkeypatch.setattr(transport, "_POLL_SECONDS", 0.001)


def open_session(monkeypatch: pytest.MonkeyPatch, tape: Tape, timeout: float = 0.3) -> transport.OnyxSession:
    monkeypatch.setattr(transport, "_connect", lambda settings: tape)
    return transport.OnyxSession(Settings(HOST, "admin", "secret", timeout=timeout))


def script(prompt: str, **answers: str) -> dict[str, str]:
    """``prompt`` without its sign; the lines of a login, and of configuration mode."""
    return {
        "": prompt + "> ",
        "no cli session paging enable": prompt + "> ",
        "enable": prompt + "# ",
        "configure terminal": prompt + "(config) # ",
        "exit": prompt + "(config) # ",
        **answers,
    }


PROMPTS = [
    ("switch ", ""),
    ("switch-e1be2c [standalone: master] ", "master"),
    ("[standalone: master] ", "master"),
    ("sw-spine-001 [rocket-mlag-domain: master] ", "master"),
    ("sw-spine-001 [mlag-domain: standby] ", "standby"),
    ("switch-xxxxxx [standalone: unknown] ", "unknown"),
    ("mellanox.lan [standalone: master] ", "master"),
]


@pytest.mark.parametrize("size", [0, 1, 7], ids=["whole", "1 character", "7 characters"])
@pytest.mark.parametrize(("prompt", "role"), PROMPTS, ids=[entry[0].strip() for entry in PROMPTS])
def test_1_1_every_published_prompt(monkeypatch: pytest.MonkeyPatch, prompt: str, role: str, size: int) -> None:
    tape = Tape(LOGIN + prompt + "> ", script(prompt, **{"show hosts": f"Hostname: x\n{prompt}# "}), size)
    session = open_session(monkeypatch, tape)
    assert session.role == role
    assert session.show("show hosts") == "Hostname: x"


@pytest.mark.parametrize(
    "mode",
    [
        "config interface ethernet 1/1",
        "config vlan 4000",
        "config interface vlan 4000",
        "config interface ethernet 1/1-1/10",
        "config interface port-channel 1",
        "config interface mlag-port-channel 1",
        "config interface ib 1/1-1/18",
    ],
)
def test_1_1_every_published_sub_mode_is_left_again(monkeypatch: pytest.MonkeyPatch, mode: str) -> None:
    prompt = "switch-e1be2c [standalone: master] "
    tape = Tape(LOGIN + prompt + "> ", script(prompt, open=f"{prompt}({mode}) # "))
    session = open_session(monkeypatch, tape)
    assert session.configure("open") == ""
    assert tape.typed[-2:] == ["open", "exit"]


@pytest.mark.parametrize(
    "motd",
    [
        "#" * 60 + "\n# Property of the site. Only authorised persons. #\n" + "#" * 60 + "\n",
        "#\n# \n#\n",
        "maintenance # 4711\n",
        "> quoted\n",
    ],
)
def test_1_1_a_message_of_the_day_made_of_hashes_is_no_prompt(monkeypatch: pytest.MonkeyPatch, motd: str) -> None:
    prompt = "sw-spine-001 [standalone: master] "
    answers = {"show hosts": f"Hostname: x\n{prompt}# "}
    tape = Tape(LOGIN + motd + "\n" + prompt + "> ", script(prompt, **answers), size=1)
    session = open_session(monkeypatch, tape)
    assert session.show("show hosts") == "Hostname: x"


def test_1_1_a_line_that_looks_like_a_prompt_does_not_shift_the_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    prompt = "sw-spine-001 [standalone: master] "
    tape = Tape("maintenance # ", script(prompt, **{"show hosts": f"Hostname: x\n{prompt}# "}))
    # The real prompt comes late, so that the empty line is answered by a second one.
    tape._script[""] = f"\n{prompt}> \n{prompt}> "
    session = open_session(monkeypatch, tape)
    assert session.show("show hosts") == "Hostname: x"


def test_1_1_a_terminal_that_does_not_echo_is_understood_too(monkeypatch: pytest.MonkeyPatch) -> None:
    prompt = "switch "
    tape = Tape(prompt + "> ", script(prompt, **{"show hosts": f"Hostname: x\n{prompt}# "}), echo=False)
    assert open_session(monkeypatch, tape).show("show hosts") == "Hostname: x"


def test_1_1_no_password_is_asked_and_enable_comes_before_configure(monkeypatch: pytest.MonkeyPatch) -> None:
    prompt = "switch "
    tape = Tape(prompt + "> ", script(prompt, roce=prompt + "(config) # "))
    open_session(monkeypatch, tape).configure("roce")
    assert tape.typed == ["", "no cli session paging enable", "enable", "configure terminal", "roce"]


def test_1_2_paging_is_turned_off_for_the_session_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """`terminal length 0` is refused by the switch, `no cli default paging enable` would stay for everybody."""
    tape = Tape("switch > ", script("switch "))
    open_session(monkeypatch, tape)
    assert "no cli session paging enable" in tape.typed
    assert not [line for line in tape.typed if "default" in line or "terminal" in line]


@pytest.mark.parametrize(
    ("printed", "refusal"),
    [
        ('% Unrecognized command "xyzzy".\nType "?" for help.\n', '% Unrecognized command "xyzzy".'),
        ("% Please enter an integer between 5 and 999.\n", "% Please enter an integer between 5 and 999."),
        ("", ""),
        ("   interface ethernet 1/1 description %1\n", ""),
    ],
)
def test_1_3_a_percent_sign_is_an_error_at_the_start_of_a_line_only(
    monkeypatch: pytest.MonkeyPatch, printed: str, refusal: str
) -> None:
    prompt = "switch "
    tape = Tape(prompt + "> ", script(prompt, xyzzy=f"{printed}{prompt}(config) # "))
    assert open_session(monkeypatch, tape).configure("xyzzy") == refusal


def test_1_3_success_is_silent_and_anything_else_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    prompt = "switch "
    tape = Tape(prompt + "> ", script(prompt, line=f"Note: something\n{prompt}(config) # "))
    session = open_session(monkeypatch, tape)
    assert session.configure("line") == "" and session.remarks == ["'line' was answered with 'Note: something'"]


QUESTIONS = [
    "This requires a reboot.\nType 'yes' to confirm: ",
    "the following interfaces will be unmapped: 1/33 1/36\nType 'yes' to confirm split: ",
    "> Type 'YES' to confirm split: ",
    "Type 'YES' to confirm reset ",
]


@pytest.mark.parametrize("question", QUESTIONS)
def test_1_4_no_question_is_ever_answered_and_the_session_is_given_up(
    monkeypatch: pytest.MonkeyPatch, question: str
) -> None:
    prompt = "switch "
    tape = Tape(prompt + "> ", script(prompt, line=question))
    session = open_session(monkeypatch, tape)
    with pytest.raises(ApplyError, match="none was given"):
        session.configure("line")
    assert tape.typed[-1] == "line" and tape.hung_up


WIZARD = """NVIDIA Switch

Configuration wizard

Do you want to use the wizard for initial configuration?
Please answer 'yes' or 'no'.
Do you want to use the wizard for initial configuration? """


def test_1_4_the_first_login_wizard_is_recognised_and_not_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    tape = Tape(WIZARD, {})
    with pytest.raises(RefusedError, match="wizard") as caught:
        open_session(monkeypatch, tape)
    assert tape.typed == [] and tape.hung_up and "console" in str(caught.value)


def test_1_4_a_new_admin_password_is_not_invented(monkeypatch: pytest.MonkeyPatch) -> None:
    tape = Tape("New password for 'admin' account must be typed, please enter new password: ", {})
    with pytest.raises(CredentialError, match="a new password"):
        open_session(monkeypatch, tape)
    assert tape.typed == []


def test_1_1_an_enable_password_is_named_as_the_cause(monkeypatch: pytest.MonkeyPatch) -> None:
    tape = Tape("switch > ", script("switch ", enable="Password: "))
    with pytest.raises(CredentialError, match="enable password"):
        open_session(monkeypatch, tape)


def test_1_10_an_account_with_a_unix_shell_only_is_no_switch(monkeypatch: pytest.MonkeyPatch) -> None:
    tape = Tape("UNIX shell commands cannot be executed using this account.\n", {})
    with pytest.raises(UnreachableError, match="UNIX shell commands cannot be executed"):
        open_session(monkeypatch, tape)


VERSION_TEXT = {
    "3.8.2004": '{"Product name": "Onyx", "Product release": "3.8.2004", "Build ID": "#1-dev", '
    '"Target arch": "x86_64", "Version summary": "X86_64 3.8.2004 2019-09-23 14:19:47 x86_64", '
    '"Product model": "x86onie", "System serial num": "MT1940T00588"}',
    "3.6.5000": '{"Product name": "MLNX-OS", "Product release": "3.6.5000"}',
}


def test_1_5_the_version_of_both_product_names() -> None:
    new = parsing.parse_version(HOST, VERSION_TEXT["3.8.2004"])
    assert (new.release, new.model, new.serial) == ((3, 8, 2004), "x86onie", "MT1940T00588")
    assert parsing.parse_version(HOST, VERSION_TEXT["3.6.5000"]).release == (3, 6, 5000)


def test_1_6_every_published_json_answer() -> None:
    parse = parsing
    assert parse.parse_vlans(HOST, '{"10": {"Name": "test 10", "Ports": ""}}')[10].name == "test 10"
    both = (
        '{"100": [{"Name": "", "Ports": "Eth1/53, Eth1/55"}], "1": [{"Name": "default", "Ports": "Eth1/2,\\nEth1/6"}]}'
    )
    assert parse.parse_vlans(HOST, both)[1].members == ("1/2", "1/6")
    old = '{"Eth1/11": {"Access vlan": "1", "Allowed vlans": "", "Mode": "access"}}'
    assert parse.parse_switchport(HOST, old)["1/11"].access_vlan == 1
    trunk = '{"Eth1/54": [{"Access vlan": "N/A", "Allowed vlans": "101", "Mode": "trunk"}]}'
    assert parse.parse_switchport(HOST, trunk)["1/54"].access_vlan is None
    hybrid = '{"Eth1/5": [{"Access vlan": "1", "Allowed vlans": "2, 4, 7-10", "Mode": "hybrid"}]}'
    assert parse.parse_switchport(HOST, hybrid)["1/5"].allowed_vlans == "2,4,7-10"
    pfc = (
        '[{"PFC": "enabled", "Priority Enabled List": "3 4", "Priority Disabled List": "0 1 2 5 6 7"}, '
        '{"Eth1/16": [{"PFC admin": "Auto", "PFC oper": "Enabled"}]}]'
    )
    assert parse.parse_pfc(HOST, pfc)["1/16"] == ("Auto", "Enabled")
    older = '{"Table 2": {"Eth1/1": [{"PFC admin": "On", "PFC oper": "Disabled"}]}}'
    assert parse.parse_pfc(HOST, older)["1/1"] == ("On", "Disabled")
    congestion = (
        '[{"Interface ethernet": "1/1", "ECN marked packets": "12"}, {"header": "TC-0", "Mode": "none"}, '
        '{"header": "TC-3", "Mode": "ECN", "Threshold mode": "absolute", "Minimum threshold": "150 KB", '
        '"Maximum threshold": "1500 KB", "RED dropped packets": "0"}]'
    )
    assert parse.parse_congestion(HOST, congestion) == {"1/1": ({0: "none", 3: "ECN"}, 12)}
    counters = (
        '[{"Eth1/1": [{"Rx": [{"RoCE PG packets": "7", "RoCE PG bytes": "700"}]}, '
        '{"Tx": [{"RoCE TC packets": "9", "RoCE TC bytes": "900"}]}]}]'
    )
    assert parse.parse_direction_counters(HOST, "counters roce", counters) == {
        "1/1": {
            "rx_roce_pg_packets": 7,
            "rx_roce_pg_bytes": 700,
            "tx_roce_tc_packets": 9,
            "tx_roce_tc_bytes": 900,
        }
    }
    lags = '{"Flags": {"D": "Down"}, "1 Po22(D)": [{"Type": "STATIC", "Member Ports": "Eth1/7(D)"}]}'
    assert parse.parse_port_channels(HOST, lags) == {"1/7": "Po22"}


NEIGHBORS = """[
 {"Eth1/1 (Po100)": [{"port id subtype": "Interface Name (5)", "Remote chassis id": "00:00:5e:00:53:01",
   "Remote port-id": "Eth1/11", "Remote port description": "to leaf", "Remote system name": "sw-leaf03",
   "Remote system description": "switch"}]},
 {"Eth1/5": [{"Remote port-id": "eth0", "Remote system name": "gpu01"}, {"Remote port-id": "bmc"}]}
]"""


def test_1_6_lldp_neighbors_of_a_port_channel_member_and_of_a_shared_port() -> None:
    found = parsing.parse_neighbors(HOST, NEIGHBORS)
    assert [neighbor.system for neighbor in found["1/1"]] == ["sw-leaf03"]
    assert [(neighbor.system, neighbor.port) for neighbor in found["1/5"]] == [("gpu01", "eth0"), ("", "bmc")]


@pytest.mark.parametrize(
    "text", ['{"Lines": ["", "No lldp remote information.", ""]}', "No lldp remote information.", "[]", ""]
)
def test_1_6_no_neighbor_at_all_is_an_answer(text: str) -> None:
    assert parsing.parse_neighbors(HOST, text) == {}


def test_1_9_configuration_files_and_unsaved_changes() -> None:
    text = "csm1.0 (active)\ninitial\ninitial.bak\nActive configuration: csm1.0\nUnsaved changes : no"
    assert parsing.parse_files(HOST, text) == ("csm1.0", "initial", "initial.bak")
    assert parsing.parse_unsaved(HOST, text) is False
