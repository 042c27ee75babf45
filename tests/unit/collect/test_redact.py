"""Nothing of a site survives, the same has the same stand-in, another another, and networks keep their shape."""

from __future__ import annotations

import ipaddress
import json
import re
import string

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._collect import patterns
from ansible_collections.rocemesh.multinode.plugins.module_utils._collect.patterns import hosts_in
from ansible_collections.rocemesh.multinode.plugins.module_utils._collect.redact import Redactor
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

LABEL = st.from_regex(r"[b-df-hj-m]{3,8}[0-9]{1,3}", fullmatch=True)
SECRET = st.text(string.ascii_letters + string.digits + "!%+_-", min_size=6, max_size=20).filter(
    lambda text: re.search(r"[a-z]", text) and re.search(r"\d", text) and not re.search(r"secret", text, re.IGNORECASE)
)
V4 = st.tuples(
    st.sampled_from([10, 100, 172, 192, 198, 203]), st.integers(20, 255), st.integers(0, 255), st.integers(1, 254)
).map(lambda parts: ".".join(map(str, parts)))
V6 = st.integers(1 << 32, (1 << 77) - 1).map(lambda low: str(ipaddress.IPv6Address((0x2001 << 112) | (1 << 80) | low)))
MAC = st.integers(1, (1 << 40) - 1).map(lambda low: ":".join(re.findall("..", f"0c{low:010x}")))
SERIAL = st.from_regex(r"MT[0-9]{4}[A-Z][0-9]{5}", fullmatch=True)
LINES = (
    "{name}:12:34 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [RO]; OOB ens192:{v4}<0>",
    "Feb  1 10:00:00 {name} kernel: mlx5_core 0000:0b:00.0: link to {v4}:4791 lost",
    "connect to {name}.{domain} port 22: refused; {name}-mgmt is up, peer=[{v6}]:22",
    "    link/ether {mac} brd ff:ff:ff:ff:ff:ff\n    inet {v4}/24 brd 255.255.255.0\n    inet6 {v6}/64 scope global",
    "password: {secret}\nlogin --password={secret}",
    "https://me:{secret}@{name}.{domain}/x\nAuthorization: Bearer {secret}",
    "[SN] Serial number: {serial}\n{{\"hosts\": [\"{name}\"], \"token\": \"{secret}\", \"address\": \"{v4}\"}}",
)  # fmt: skip


# What fails is shown as it is: making it smaller takes minutes.
@settings(max_examples=20, deadline=None, phases=[Phase.explicit, Phase.generate])
@given(data=st.data())
def test_nothing_survives_and_stand_ins_are_consistent(data: st.DataObject) -> None:
    def some(strategy: st.SearchStrategy[str]) -> list[str]:
        return data.draw(st.lists(strategy, min_size=2, max_size=3, unique_by=str.lower))

    names, v4s, v6s, macs, serials, secrets = map(some, (LABEL, V4, V6, MAC, SERIAL, SECRET))
    domain = data.draw(st.sampled_from(["corp.local", "dc1.zzq.net"]))
    things = {"name": names, "v4": v4s, "v6": v6s, "mac": macs, "serial": serials, "secret": secrets}
    lines = data.draw(st.lists(st.sampled_from(LINES), min_size=1, max_size=6))
    text = "\n".join(
        line.format(domain=domain, **{kind: data.draw(st.sampled_from(each)) for kind, each in things.items()})
        for line in lines
    )
    redactor = Redactor(secrets, [f"{name}.{domain}" for name in names], b"seed")
    after = redactor.text(text)
    for each in [*names, *v4s, *v6s, *macs, *serials, *secrets]:
        assert not re.search(rf"(?<![a-z0-9]){re.escape(each.lower())}(?![a-z0-9])", after.lower()), (each, after)
    assert domain not in after
    assert after.count("\n") == text.count("\n")
    # Again, and each alone: the same; of one kind no two share one.
    assert redactor.text(text) == after
    for each in things.values():
        alone = [redactor.text(f" {one} ") for one in each]
        if each is not serials:
            assert len(set(alone)) == len(each)
    assert Redactor(secrets, [f"{name}.{domain}" for name in names], b"seed").text(text) == after


@given(first=V4, second=V4, length=st.integers(8, 30))
def test_networks_keep_their_shape(first: str, second: str, length: int) -> None:
    redactor = Redactor(seed=b"seed")
    one, other = (ipaddress.IPv4Interface(f"{each}/{length}") for each in (first, second))
    made_one, made_other = (ipaddress.IPv4Interface(redactor.text(str(each))) for each in (one, other))
    assert (one.network == other.network) == (made_one.network == made_other.network)
    assert (one == other) == (made_one == made_other)
    # The name of a network stays one, and its addresses lie in it.
    assert ipaddress.IPv4Network(redactor.text(str(one.network))) == made_one.network
    assert int(made_one.ip) >> 28 == 15


# The name of a network that looks as if it were made from a MAC, though no address in it does.
@example(first="2001:0:1::ff:ff00:0", second="2001:0:1::1:0:0", length=103)
@given(first=V6, second=V6, length=st.integers(48, 126))
def test_networks_of_ipv6_too(first: str, second: str, length: int) -> None:
    redactor = Redactor(seed=b"seed")
    one, other = (ipaddress.IPv6Interface(f"{each}/{length}") for each in (first, second))
    if any((int(each.ip) >> 24) & 0xFFFF == 0xFFFE for each in (one, other)):
        return
    made_one, made_other = (ipaddress.IPv6Interface(redactor.text(str(each))) for each in (one, other))
    assert (one.network == other.network) == (made_one.network == made_other.network)
    assert ipaddress.IPv6Network(redactor.text(str(one.network))) == made_one.network


@pytest.mark.parametrize(
    "text",
    [
        "0000:0b:00.0 mlx5_0:1/RoCE c10d::send std::vector 10:00:00 22.36.1010 MLNX_OFED_LINUX-5.2-2.2.4.0",
        "MLNX_OFED_LINUX-24.10-1.1.4.0: GID: 999:128:00:00:00:00:00:00:02:80:86:255:254:171:18:52",
        "127.0.0.1 ::1 255.255.255.0 224.0.0.251 169.254.3.4 172.17.0.1 ff:ff:ff:ff:ff:ff 01:00:5e:00:00:fb",
        "tokens: 4096 tokens per second; Permission denied (publickey,password).",
        "see https://docs.nvidia.com/x and github.com/NVIDIA/nccl; root@x libnccl-net.so torch.nn.Module train.py",
        "password: none, Serial Number : N/A",
        'pkey 0 p_key: 0xffff P_Key=0x7fff "token": 5, ssh://git@github.com/x',
    ],
)
def test_what_tells_nothing_of_a_site_stays(text: str) -> None:
    assert Redactor().text(text) == text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIabc\n-----END RSA PRIVATE KEY-----", "MIIabc"),
        ("-----BEGIN A-----\ncut1\n-----BEGIN B-----\ncut2\n-----END B-----", "cut2"),
        ("NGC_API_KEY=nvapi-abcdefghijklmnopqrstuv", "nvapi"),
        ("export WANDB_API_KEY='0123abcd'", "0123abcd"),
        ("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ bob@laptop1", "AAAAC3"),
        ("GPU 0: H100 (UUID: GPU-1b2c3d4e-aaaa-bbbb-cccc-0123456789ab)", "1b2c3d4e"),
        ("uuid.bios = \"56 4d 12 34 56 78 9a bc-de f0 12 34 56 78 9a bc\"", "9a bc"),
        ("Device Serial Number 50-6b-4b-03-00-cb-e1-f2", "50-6b"),
        ("node_guid: 506b:4b03:00cb:e1f2", "506b"),
        ("/home/alice/run.sh from alice@192.0.2.4", "alice"),
        ("ip-10-1-2-3: NCCL", "10-1-2-3"),
        ("0cc4.7a12.3456 dynamic Eth1/1", "7a12"),
        ("IN=ens9 OUT= MAC=00:50:56:12:34:56:00:50:56:65:43:21:08:00 SRC=192.0.2.4", "12:34:56"),
        ("IN=ens9 OUT= MAC=00:50:56:12:34:56:00:50:56:65:43:21:08:00 SRC=192.0.2.4", "65:43:21"),
        ("    link/infiniband 20:00:11:47:fe:80:00:00:00:00:00:00:e4:1d:2d:03:00:12:34:56 brd", "12:34:56"),
        ("Base GUID:             0c42a10300123456        20", "0c42a1"),
        ("Base MAC:              0c42a1123456            20", "123456"),
        ("    mlx5_0          \t0c42a10300123456", "0c42a1"),
        (" GID: 00:00:00:00:00:00:00:00:00:00:255:255:10:01:02:03", "10:01:02:03"),
        ("/sys/class/infiniband/mlx5_0/ports/1/gids/13:0000:0000:0000:0000:0000:ffff:0a01:0203", "0a01"),
        ("Bootstrap : Using ens1f0np0:2001:db8:77::11<0>", "db8:77"),
        ("Bootstrap : Using ens192:2001:db8:77::11<0>", "db8:77"),
        ("pool 10.1.2.3-10.1.2.20", "10.1.2.20"),
        ("logs/10.1.2.3_dmesg.txt", "10.1.2.3"),
        ("qpn 200 mtu 5 GID 3 (0/302010AFFFF0000)", "302010A"),
        ("localGid 2001:db8:77::11 remoteGids2001:db8:77::12 hca mlx5_0", ":db8"),
        ("dmesg_10.1.2.3.txt", "10.1.2.3"),
        ("neighbour_0c:c4:7a:12:34:56", "12:34:56"),
    ],
)  # fmt: skip
def test_forms_that_name_somebody_or_open_something(text: str, words: str) -> None:
    assert words not in Redactor().text(text)


@pytest.mark.parametrize(
    "text",
    [
        "AWS_SECRET_ACCESS_KEY=a1b2c3",
        "aws_secret_access_key = a1b2c3",
        "secret_key: a1b2c3",
        '{"SecretAccessKey": "a1b2c3"}',
        "become_pass: a1b2c3",
        "ANSIBLE_BECOME_PASS=a1b2c3",
        "NGC_CLI_KEY=a1b2c3",
        "password: x,a1b2c3",
        "password: x;a1b2c3, y",
        '"password": "x\\"a1b2c3"',
        'password: "a1b2c3',
        "https://u:p@a1b2c3@h",
        "https://a1b2c3@host",
        "Authorization: Token a1b2c3",
        "Authorization: Digest a1b2c3",
        "Authorization: Token 123456",
        "-----BEGIN RSA PRIVATE KEY-----\na1b2c3\nMII",
        "-----BEGIN A-----\na1b2c3\n-----BEGIN B-----\ncut\n-----END B-----",
        "username admin password 7 $6$salt$a1b2c3",
        "username admin secret sha512 $6$salt$a1b2c3",
        "enable password 7 a1b2c3",
    ],
)
def test_a_secret_beside_its_key_does_not_survive_in_part(text: str) -> None:
    after = Redactor().text(text)
    assert not re.search(r"a1b2c3|123456|MII", after)
    assert after.count("[masked-") == 1 + text.count("-----BEGIN B")
    assert after.count("\n") == text.count("\n")


@pytest.mark.parametrize("secret", ['pa"ss\\word', "Schlüssel-7", "line-of-a-file\n"])
def test_a_secret_is_found_in_every_spelling_and_stays_one(secret: str) -> None:
    redactor = Redactor([secret])
    texts = [secret, secret.strip(), json.dumps({"x": secret}), json.dumps([secret], ensure_ascii=False)]
    after = [redactor.text(text) for text in texts]
    assert [text.strip() for text in after] == [
        "[secret-1]", "[secret-1]", "{\"x\": \"[secret-1]\"}", "[\"[secret-1]\"]",
    ]  # fmt: skip
    assert redactor.counts() == {"secret": 1}


def test_no_form_reads_the_rest_of_a_long_word_from_each_of_its_letters() -> None:
    """A class without a bound before a word that must follow: as many steps as letters, from every letter."""
    unbounded = re.compile(r"^(?:--\?)?\[[^]]*\][*+]\(\?:")
    spoken = patterns.FORMS["spoken_hosts"]
    assert [name for name, form in patterns.FORMS["things"].items() if unbounded.match(form)] == []
    assert [each for each in spoken if unbounded.match(each + "(?:")] == []
    assert not any(re.match(r"\[[^]]*\][^)]*[*+]@", each) for each in spoken)


def test_one_card_is_one_card_in_every_spelling() -> None:
    redactor = Redactor(seed=b"seed")
    ether, gid = redactor.text("0c:42:a1:12:34:56 fe80:0000:0000:0000:0e42:a1ff:fe12:3456").split()
    made = ipaddress.IPv6Address(gid)
    assert made.is_link_local
    digits = ether.replace(":", "")
    low = int(made) & ((1 << 64) - 1)
    assert f"{(low >> 40) ^ 0x020000:06x}{low & 0xFFFFFF:06x}" == digits
    dash, colon = redactor.text("50-6b-4b-03-00-cb-e1-f2 506b:4b03:00cb:e1f2").split()
    assert dash.replace("-", "") == colon.replace(":", "")
    assert redactor.text("0000:0000:0000:0000:0000:ffff:c633:640b").endswith(
        "{:02x}{:02x}:{:02x}{:02x}".format(*map(int, redactor.text("198.51.100.11").split(".")))
    )


def test_hosts_are_known_from_where_programs_print_them() -> None:
    text = "gpu01:1:2 [0] NCCL INFO x\nFeb  1 10:00:00 node2 kernel: y\nfrom worker-3 to: store4, a@login5\nGPU1 mlx5_0"
    assert sorted(hosts_in(text)) == ["gpu01", "login5", "node2", "store4", "worker-3"]


def test_hosts_are_known_from_ansible_and_uname() -> None:
    text = "dgx-b-07 | CHANGED | rc=0 >>\nLinux dgx-b-08 5.15.0-91-generic x86_64\ndgx-b-09      : ok=12   changed=3\n"
    assert sorted(hosts_in(text + "Linux version 5.15.0-91\nrow | column\n")) == ["dgx-b-07", "dgx-b-08", "dgx-b-09"]


def test_a_host_has_one_name_in_every_form_and_in_the_names_of_pieces() -> None:
    redactor = Redactor(names=["esx01.corp.example.test"])
    assert redactor.text("esx01 ESX01 esx01.corp.example.test esx012").split() == [
        "host-1", "host-1", "host-1.domain-1.invalid", "esx012",
    ]  # fmt: skip
    assert redactor.piece("esxi/esx01/vmware.log") == "esxi/host-1/vmware.log"


def test_a_log_of_the_whole_internet_has_no_end_of_stand_ins_and_leaks_nothing() -> None:
    redactor = Redactor(seed=b"seed")
    text = " ".join(f"{first}.{second}.3.4" for first in range(1, 200) for second in (5, 77) if first not in (127, 172))
    after = redactor.text(text).split()
    assert not set(after) & set(text.split())
    assert all(ipaddress.IPv4Address(each) for each in after)
