"""Secrets of the inventory in every encoding, and unknown ones beside the words that tell them."""

from __future__ import annotations

import base64
import html
import json
import shlex
from typing import Callable, Iterator
from urllib.parse import quote, quote_plus, urlencode

import pytest
import yaml
from ansible_collections.rocemesh.multinode.plugins.module_utils._collect.redact import Redactor

KNOWN = (
    "InvSecret77", "p@Inv/Secret99", "it's \"so\" 5", "a b&c<d>e", "Schlüssel-7", "back\\slash$HOME", "100%+more=",
    "nvapi-x_Y-z0123456789", "tab\there1", "pass", "line-one\nline-two\nline-three", "ÖÄÜß€漢字pw",
    "0f3c9a7b5e1d2c4b6a8f", "correct horse battery staple is a long phrase that folds over more than one line of text",
)  # fmt: skip


def b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


ENCODINGS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "json": lambda text: json.dumps({"x": text}),
    "json in json": lambda text: json.dumps({"stdout": json.dumps({"x": text})}),
    "json in json in json": lambda text: json.dumps([json.dumps([json.dumps([text])])]),
    "json of letters": lambda text: json.dumps([text], ensure_ascii=False),
    "url": lambda text: f"https://h/?q={quote(text, safe='')}&x=1",
    "url path": lambda text: f"https://h/{quote(text)}",
    "url form": lambda text: urlencode({"q": text}),
    "url plus": quote_plus,
    "url twice": lambda text: quote(quote(text, safe=""), safe=""),
    "base64": b64,
    "base64 at 1": lambda text: b64(f"{{{text}}}"),
    "base64 at 2": lambda text: b64(f"a:{text}\n"),
    "basic": lambda text: f"> Authorisation Basic {b64('admin:' + text)} <",
    "base64 for urls": lambda text: base64.urlsafe_b64encode(f"x{text}".encode()).decode(),
    "base64 in lines": lambda text: base64.encodebytes(f"{'some text before ' * 4}{text} and after".encode()).decode(),
    "base64 of json": lambda text: b64(json.dumps({"auths": {"r": {"x": text}}})),
    "base64 of base64": lambda text: b64(json.dumps({"auths": {"r": {"auth": b64("me:" + text)}}})),
    "hex": lambda text: text.encode().hex(),
    "hex in capitals": lambda text: text.encode().hex().upper(),
    "hex with blanks": lambda text: text.encode().hex(" "),
    "shell": lambda text: f"run {shlex.quote(text)}",
    "xml": html.escape,
    "yaml": lambda text: yaml.safe_dump({"x": text}),
    "yaml of letters": lambda text: yaml.safe_dump({"x": text}, allow_unicode=True, default_style='"'),
    "python": repr,
}


def readings(text: str) -> Iterator[str]:
    """The text as somebody reads it who decodes what looks encoded."""
    yield text
    for each in text.replace("\n", " ").split():
        for letters in (each, each.strip("\"'{}[]:,")):
            try:
                yield base64.b64decode(
                    letters + "=" * (-len(letters) % 4), altchars=b"-_" if "_" in each else None
                ).decode("utf-8", "ignore")
            except ValueError:
                continue


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_known_secret_in_an_encoding_is_removed(encoding: str) -> None:
    encode = ENCODINGS[encoding]
    left = []
    for secret in KNOWN:
        text = f"first line\n{encode(secret)}\nlast line"
        after = Redactor([secret]).text(text)
        if "[secret-1]" not in after or any(secret in each for each in readings(after)):
            left.append((secret, text, after))
        assert after.startswith("first line\n") and after.endswith("\nlast line")
        assert after.count("\n") == text.count("\n")
    assert left == []


def test_known_secret_with_a_blank_after_its_key_leaves_no_rest() -> None:
    assert Redactor(["two words9"]).text("password: two words9") == "password: [secret-1]"


def test_known_secret_that_three_letters_make_up_is_no_part_of_words() -> None:
    assert Redactor(["abc\n"]).text("abcdef") == "abcdef"


@pytest.mark.parametrize(
    "form",
    [
        '{{"auths": {{"nvcr.io": {{"auth": "{}"}}}}}}',
        "//registry.example/:_auth={}",
        'Cookie: vmware_soap_session="{}"',
        "vmware-api-session-id: {}",
        "Set-Cookie: JSESSIONID={}; Path=/",
        "curl -s -u admin:{} https://vc/",
        "docker login -u me -p {} nvcr.io",
        "sshpass -p {} ssh x",
        "ipmitool -I lanplus -H h -U ADMIN -P {} chassis",
        "machine nvcr.io login me password {}",
        "server=vc;uid=a;pwd={};",
        "MYSQL_PWD={}",
        "neighbor 10.0.0.1 password {}",
        "snmp-server community {} ro",
        "tacacs-server host 10.0.0.9 key {}",
        "radius-server key 7 {}",
        "ntp authentication-key 1 md5 {}",
        "xoxb-123456789012-{}",
        "sk-proj-{}abcdefghijklmnopqrstuvwxyz",
        "https://x.blob.core.windows.net/c?sv=2020&sig={}%3D",
        "https://s3/x?X-Amz-Signature={}",
        "registry_password: >-\n  {}\n",
        "password: |\n    {}\n",
        '{{"x": "{{\\"password\\": \\"{}\\"}}"}}',
        "password%3D{}",
        '{{"name": "DB_PASSWORD", "value": "{}"}}',
        "- name: DB_PASSWORD\n  value: {}\n",
        "MUNGE:AwQDAAD{}==:",
        "<userName>a</userName><password>{}</password>",
        "wandb login {}",
        "ansible_become_pass {}",
        "psk={}",
        "token was github_pat_11ABCDEFG0{}abcdefghijklmnop",
    ],
)
def test_unknown_secret_beside_what_tells_it_is_removed(form: str) -> None:
    text = form.format("Hunter2Zq9")
    after = Redactor().text(text)
    assert "Hunter2Zq9" not in after and "[masked-" in after
    assert after.count("\n") == text.count("\n")


@pytest.mark.parametrize(
    "text",
    [
        "PWD=/root/run OLDPWD=/tmp",
        "NCCL INFO comm 0x55d0c0a8f0e0 rank 0 nranks 2 commId 0x9b1d3c6a5f7e8d21 - Init COMPLETE",
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "commit 8e5ba6f0c1d2e3f4a5b6c7d8e9f00112233445566",
        "user name login as password authentication failed",
        "auth: none, signal 9, sig=11",
    ],
)
def test_text_that_tells_no_secret_stays(text: str) -> None:
    assert Redactor().text(text) == text
