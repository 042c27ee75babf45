from __future__ import annotations

from lab import hostnet

CLEAN = """\
*filter
:INPUT ACCEPT [0:0]
:FORWARD ACCEPT [12:3456]
:OUTPUT ACCEPT [0:0]
-A INPUT -i lo -j ACCEPT
COMMIT
"""
WITH_ENGINE = """\
*filter
:INPUT ACCEPT [0:0]
:FORWARD DROP [0:0]
:OUTPUT ACCEPT [0:0]
:DOCKER - [0:0]
:DOCKER-USER - [0:0]
:MINE - [0:0]
-A INPUT -i lo -j ACCEPT
-A INPUT -p tcp --dport 22 -m comment --comment "my rule" -j ACCEPT
-A FORWARD -j DOCKER-USER
-A FORWARD -i rocemesh0 -j ACCEPT
-A DOCKER-USER -j RETURN
-A MINE -j RETURN
COMMIT
*nat
:POSTROUTING ACCEPT [0:0]
:DOCKER - [0:0]
-A POSTROUTING -s 10.78.0.0/24 ! -o rocemesh0 -j MASQUERADE
COMMIT
"""


def undo(before: str, after: str) -> list[str]:
    arguments = hostnet.undo_arguments(
        hostnet.parse_save(before), hostnet.parse_save(after), ("rocemesh0",), ("10.78.0.0/24",)
    )
    return [" ".join(line) for line in arguments]


def test_parser_keeps_policies_and_rules_and_drops_counters() -> None:
    assert hostnet.parse_save(CLEAN) == {
        "filter": {
            "policies": {"INPUT": "ACCEPT", "FORWARD": "ACCEPT", "OUTPUT": "ACCEPT"},
            "rules": ["-A INPUT -i lo -j ACCEPT"],
        }
    }


def test_everything_of_an_engine_is_taken_back() -> None:
    assert undo(CLEAN, WITH_ENGINE) == [
        "-t filter -D FORWARD -j DOCKER-USER",
        "-t filter -D FORWARD -i rocemesh0 -j ACCEPT",
        "-t filter -F DOCKER",
        "-t filter -F DOCKER-USER",
        "-t filter -X DOCKER",
        "-t filter -X DOCKER-USER",
        "-t filter -P FORWARD ACCEPT",
        "-t nat -D POSTROUTING -s 10.78.0.0/24 ! -o rocemesh0 -j MASQUERADE",
        "-t nat -F DOCKER",
        "-t nat -X DOCKER",
    ]


def test_rules_that_somebody_else_added_meanwhile_stay() -> None:
    assert not [line for line in undo(CLEAN, WITH_ENGINE) if "MINE" in line or "my rule" in line]


def test_what_was_there_before_the_engine_stays() -> None:
    assert undo(WITH_ENGINE, WITH_ENGINE) == []


def test_quoted_words_of_a_rule_stay_one_argument() -> None:
    after = CLEAN.replace("COMMIT", '-A INPUT -i rocemesh0 -m comment --comment "two words" -j DROP\nCOMMIT')
    (arguments,) = hostnet.undo_arguments(
        hostnet.parse_save(CLEAN), hostnet.parse_save(after), ("rocemesh0",), ("10.78.0.0/24",)
    )
    assert "two words" in arguments
