"""Forms of secrets as logs and configuration files hold them, and the encodings in which they occur.

The lists were written from what secrets look like, without a look at the patterns of `collect`: secret_forms.txt before
they were made, the second and the third afterwards by others. harmless_forms_third.txt holds what looks like a secret.
`<<kind:length>>` is a secret, `<~kind:length~>` an identifier that is none. Values are made up from a seed, so that no
file of the repository holds anything like a secret.
"""

from __future__ import annotations

import base64
import json
import random
import re
import string
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Callable
from urllib.parse import quote
from xml.sax.saxutils import escape

LISTS = ("secret_forms.txt", "secret_forms_second.txt", "secret_forms_third.txt")
HARMLESS = "harmless_forms_third.txt"
_PLACE = re.compile(r"<(<|~)(\w+)(?::(\d+))?(?:>|~)>")
WINDOW = 8  # so many consecutive characters of a secret are too many

_WORDS = ["gipfel", "laterne", "sommer", "kranich", "orange", "falter", "wolken", "zebra", "anker", "birke"]
_ALPHABETS = {
    "b64": string.ascii_letters + string.digits + "+/",
    "url": string.ascii_letters + string.digits + "-_",
    "alnum": string.ascii_letters + string.digits,
    "hex": "0123456789abcdef",
    "up": string.ascii_uppercase + "234567",
    "low": string.ascii_lowercase + string.digits,
    "dig": string.digits,
    "sym": string.ascii_letters + string.digits + "!#%&*+-./:;=?@^_~",
}


def _password(dice: random.Random, length: int) -> str:
    """A password as people choose them: words and digits, words alone, or at random."""
    style = dice.randrange(3)
    if style == 0:
        made = dice.choice(_WORDS).capitalize() + "-" + dice.choice(_WORDS).capitalize() + "-" + dice.choice(_WORDS)
        return made[: max(1, length - 3)].rstrip("-") + str(dice.randrange(10, 99)) + dice.choice("!._+")
    if style == 1:
        return "-".join(dice.choice(_WORDS) for _each in range(1 + length // 5))[:length].strip("-")
    return dice.choice(string.ascii_letters) + "".join(
        dice.choice(_ALPHABETS["alnum"] + "!._-+") for _each in range(length - 1)
    )


def _value(dice: random.Random, kind: str, length: int) -> str:
    if kind == "pw":
        return _password(dice, length)
    if kind == "uuid":
        return str(uuid.UUID(int=dice.getrandbits(128), version=4))
    return "".join(dice.choice(_ALPHABETS[kind]) for _each in range(length))


@dataclass(frozen=True)
class Form:
    name: str
    template: str

    def fill(self, seed: int) -> tuple[str, list[str]]:
        """The text with values of this seed, and those values in it that are secrets."""
        dice = random.Random(f"{self.name} {seed}")
        secrets: list[str] = []

        def put(place: re.Match[str]) -> str:
            value = _value(dice, place.group(2), int(place.group(3) or 0))
            if place.group(1) == "<":
                secrets.append(value)
            return value

        return _PLACE.sub(put, self.template), secrets


def forms(name: str) -> list[Form]:
    """Every form of a list."""
    text = Path(__file__).with_name(name).read_text(encoding="utf-8")
    blocks = re.split(r"^== (\w+)\n", text, flags=re.MULTILINE)[1:]
    return [Form(name, text.rstrip("\n")) for name, text in zip(blocks[::2], blocks[1::2])]


def _json(text: str) -> str:
    return json.dumps({"message": text})


def _base64(text: str) -> str:
    """Base64 at one of the three offsets, drawn from the text."""
    return "payload " + base64.b64encode(b"\n" * (len(text) % 3) + text.encode()).decode()


ENCODINGS: dict[str, Callable[[str], str]] = {
    "plain": lambda text: text,
    "json": _json,
    "json_in_json": lambda text: _json(_json(text)),
    "url": lambda text: "GET /log?message=" + quote(text, safe=""),
    "xml": lambda text: f"<message>{escape(text, {chr(34): '&quot;'})}</message>",
    "base64": _base64,
    "hex": lambda text: "payload " + text.encode().hex(),
    "repr": lambda text: f"stdout={text.encode()!r}",
}


def _spellings(piece: str) -> list[str]:
    raw = piece.encode()
    found = [
        piece,
        json.dumps(piece)[1:-1],
        json.dumps(json.dumps(piece)[1:-1])[1:-1],
        quote(piece, safe=""),
        escape(piece),
        raw.hex(),
        repr(raw)[2:-1],
    ]
    for offset in range(3):
        made = base64.b64encode(b"\0" * offset + raw).decode()
        whole = (offset + len(raw)) * 8 // 6  # the characters that the piece alone decides
        found.append(made[(offset * 8 + 5) // 6 : whole])
    return found


def survives(secret: str, text: str) -> bool:
    """Whether WINDOW consecutive characters of the secret (all of a shorter one) are left in any encoding."""
    size = min(WINDOW, len(secret))
    pieces = (secret[start : start + size] for start in range(len(secret) - size + 1))
    return any(spelling in text for piece in pieces for spelling in _spellings(piece))
