"""How programs write a known secret: as it is, and in each encoding of logs, requests and configuration files.

base64 at its three offsets (RFC 4648), so also in the middle of an encoded text (``Basic user:password``, a Docker
configuration), in both alphabets and twice; percent-encoding (RFC 3986); JSON (RFC 8259), also in
JSON; XML; YAML; shell; hex.
"""

from __future__ import annotations

import base64
import html
import json
import re
import shlex
import string
from urllib.parse import quote, quote_plus

# A line may end within a spelling: base64 in lines of 64 or 76 letters, a wrapped terminal. A blank may be the end of a
# line in folded YAML.
_BREAK = r"(?:\\?\r?\n[ \t]*)?"
_BLANK = r"\\?\s+(?:\\\s)?"
_GAP = re.compile(_BLANK)
SHORTEST = 4  # one of three letters would be found in every second word; its key redacts such a secret
_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)  # every letter stays one letter
_NESTED = 3  # JSON in JSON in JSON: a module's result in a log of a runner


def squeezed(text: str) -> str:
    """The text without blanks, ends of lines and capitals: what holds no spelling here holds none at all."""
    return _GAP.sub("", text).translate(_LOWER)


def spellings(secret: str) -> set[str]:
    """Every spelling; the letters that base64 shares with a neighbour are not part of it."""
    plain = {each for each in (secret, secret.strip()) if len(each) >= SHORTEST}
    found = set(plain)
    for each in plain:
        data = each.encode("utf-8", "replace")
        found |= {quote(each), quote(each, safe=""), quote_plus(each), quote(quote(each, safe=""), safe="")}
        found |= {html.escape(each), html.escape(each, quote=False), repr(each)[1:-1], shlex.quote(each)}
        found |= {re.sub(r"([^\w@%+=:,./-])", r"\\\1", each), re.sub(r"([\"$`\\])", r"\\\1", each)}
        found |= {each.replace("'", "''"), each.replace("'", "'\\''"), each.replace("/", "\\/")}
        found |= {data.hex(), data.hex(" "), data.hex(":"), "".join(f"\\x{byte:02x}" for byte in data)}
        found.add("".join(f"%{byte:02x}" for byte in data))
        found.add("".join(f"\\u{ord(letter):04x}" for letter in each))
        # What Go and PHP escape in JSON beyond the standard.
        found.add(re.sub(r"[<>&'+]", lambda match: f"\\u{ord(match[0]):04x}", each))
    # Python's repr and YAML: "\\xfc" where JSON has "\\u00fc".
    found |= {each.encode("ascii", "backslashreplace").decode() for each in found}
    found |= {json.dumps(each, ensure_ascii=False)[1:-1].encode("ascii", "backslashreplace").decode() for each in plain}
    for _level in range(_NESTED):
        found |= {json.dumps(each, ensure_ascii=escaped)[1:-1] for each in found for escaped in (True, False)}
    quoted = {json.dumps(each)[1:-1] for each in plain} | {quote(each, safe="") for each in plain}
    once = {form for each in plain | quoted for form in _base64(each)}
    twice = {form for each in once for form in _base64(each)}
    return {each for each in found | once | twice if len(each) >= SHORTEST}


def _base64(text: str) -> set[str]:
    """The inner letters of the text at the three offsets, in both alphabets."""
    data = text.encode("utf-8", "replace")
    found = set()
    for offset in range(3):
        letters = base64.b64encode(b"\0" * offset + data).decode()
        inner = letters[(offset * 8 + 5) // 6 : (offset + len(data)) * 8 // 6]
        found |= {inner, inner.translate(str.maketrans("+/", "-_"))}
    return found


def expression(spelling: str) -> str:
    """A regular expression that finds the spelling, also over the ends of lines."""
    words = _GAP.split(spelling)
    return _BLANK.join(_BREAK.join(map(re.escape, word)) for word in words)
