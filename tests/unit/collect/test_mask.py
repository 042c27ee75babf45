"""What stays in clear, what gets a mark, and that a mark tells nothing but "the same again"."""

from __future__ import annotations

import re
import time

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._collect import mask, patterns
from ansible_collections.rocemesh.multinode.plugins.module_utils._collect.redact import Redactor

from .test_second_opinion import LOGS


def test_marks_are_numbers_the_same_for_the_same_value() -> None:
    text = "unit kranich-7 lost xQ9zr4Kp\nunit kranich-7 back xQ9zr4Kq\n"
    assert Redactor().text(text) == "unit [masked-1] lost [masked-2]\nunit [masked-1] back [masked-3]\n"


@pytest.mark.parametrize(
    "text",
    [
        "weka user gipfel-laterne",
        "anything xQ9zr4Kp",
        "probe;gipfel;3",
        "GET /x?q=Kj8sZ2pQwe",
        "kranich:falter@db",
        "--flag=Tr0ub4dor&3",
        "word 0123456789abcdef0123456789abcdef",
        "Orange-Index42!",
        "winter-rabbit",
        "falcon615",
        "00000000  67 69 70 66 65 6c 2d 6c                           |gipfel-l|",
        "\0".join("xQ9zr4Kp") + "\0",
    ],
)
def test_unknown_words_are_masked_without_a_word_that_tells(text: str) -> None:
    assert "[masked-1]" in Redactor().text(text)


@pytest.mark.parametrize(
    "text",
    [
        "password: 1234",
        "password orange",
        "enable password 7 orange",
        "PIN for token: 33556574",
        "token=0a1b2c3d4e",
        "https://orange@store/x",
        "Authorization: Basic orange",
        "login -p index-table",
        "admin/cache2048",
        "curl -u op:index-table",
        "recovery codes:\n* 7724e-764a7",
    ],
)
def test_behind_the_name_of_a_secret_little_stays(text: str) -> None:
    assert "[masked-1]" in Redactor().text(text)


def test_words_are_words_in_order_once() -> None:
    common, field, alone = mask._COMMON, mask._FIELD, mask._ALONE
    assert len(common) > 2_000 and len(field) > 7_000 and len(alone) > 7_000
    assert len(common | field | alone) == len(common) + len(field) + len(alone)
    assert [word for word in common | field | alone if not re.fullmatch(r"(?=\d{0,3}[a-z])[a-z0-9]{2,20}", word)] == []
    assert [word for word in field | alone if re.search(r"\d{4}", word)] == []


def test_few_words_of_real_logs_are_masked() -> None:
    texts = [path.read_text(errors="replace") for path in LOGS]
    words = sum(len(patterns.form("token").findall(text)) for text in texts)
    assert sum(len(mask.spans(text)) for text in texts) * 100 < words * 1.5


@pytest.mark.parametrize("text", ["a" * 100_000, "=" * 100_000, "password " + "-" * 100_000 + "x", "aB3" * 50_000])
def test_a_long_word_takes_no_long_time(text: str) -> None:
    start = time.process_time()
    mask.spans(text)
    assert time.process_time() - start < 10
