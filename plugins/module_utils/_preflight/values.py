"""What an argument specification cannot say of a value: its range, its form. The tables are in values.yml. Pure."""

from __future__ import annotations

import datetime
import difflib
import functools
import ipaddress
import itertools
import re
from typing import Any, Callable, Iterator, Mapping, Sequence

from ansible.module_utils.parsing.convert_bool import BOOLEANS, BOOLEANS_TRUE

from .._judge.sentences import Sentences
from .._site import schedule

_WINDOW = "{start: '22:00', end: '04:00', days: [sat], timezone: Europe/Berlin}"
_PLACEHOLDER = re.compile(
    r"(?i)^(change[-_ ]?(me|it|this)\W*|replace[-_ ]?(me|this)?\W*|fix[-_ ]?me|to[-_ ]?do|tbd|tba|placeholder"
    r"|<.*>|\.{3,}|x{3,}|\*{3,}|\?{2,}|your[-_ ].*|insert[-_ ].*)$"
)
_NO_SECRET = re.compile(r"(?i)^(none|null|dummy)$")


def expected(option: Mapping[str, Any]) -> str:
    """What an option of an argument specification takes, for a person."""
    types = table("types")
    if option.get("choices"):
        return f"one of {', '.join(str(choice) or repr('') for choice in option['choices'])}"
    if option.get("elements"):
        return f"a list, each element {types.get(option['elements'], option['elements'])}"
    return str(types.get(str(option.get("type")), option.get("type")))


def _network(value: Any) -> str:
    for text in words(value):
        try:
            network = ipaddress.ip_network(text, strict=False)
        except ValueError:
            return "networks as 192.0.2.0/24"
        if "/" not in text:
            return "networks with their length, as 192.0.2.0/24"
        if not network.prefixlen:
            return "networks that are not all addresses, as 192.0.2.0/24"
    return ""


def words(value: Any) -> list[str]:
    if isinstance(value, (list, tuple)):
        return [str(each) for each in value]
    return [] if value is None else str(value).replace(",", " ").split()


def _rails(value: Any) -> str:
    try:
        networks = [ipaddress.ip_network(text) for text in dict.fromkeys(words(value))]
    except ValueError as error:
        return f"one network per rail, as 192.0.2.0/24 ({error})"
    for one, other in itertools.combinations(networks, 2):
        if one.version == other.version and one.overlaps(other):
            return f"networks that do not overlap, one per rail ({one} and {other} do)"
    return ""


def _address(value: Any) -> str:
    if value in (None, ""):
        return ""
    try:
        found = ipaddress.ip_address(str(value))
    except ValueError:
        return "one address without length, as 192.0.2.11"
    if "%" in str(value):
        return "one address without a zone, as fd00::11"
    return _one_host(found)


def _one_host(address: Any) -> str:
    return "the address of one host" if address.is_unspecified or address.is_multicast else ""


def _server(value: Any) -> str:
    """A name or an address, as the libraries that connect take it. The last label of a name is no number."""
    text = str(value or "x")
    try:
        return _one_host(ipaddress.ip_address(text.partition("%")[0]))
    except ValueError:
        if re.match(r"^[A-Za-z0-9_.-]*\.\d+$", text):
            return "a name, or an address of four numbers to 255"
        named = re.match(r"^[A-Za-z0-9_.-]+$", text)
    return "" if named else "a name or an address alone: no https://, path, port or brackets"


def _pattern(
    value: Any, pattern: str, form: str, *, empty: bool = True, each: bool = False, pairs: bool = False,
    alone: Sequence[str] = (),
) -> str:  # fmt: skip
    """``form``: in words; ``empty``: whether nothing is right as well; ``each``: of each element of a list; ``pairs``:
    of each key of a mapping with its value behind a blank; ``alone``: words of which one may be the whole list."""
    if each or pairs:
        given = value if isinstance(value, Mapping) else words(value)
        entries = [f"{key} {said}" for key, said in dict(value).items()] if pairs else [*map(str, given)]
        fits = entries in [[word] for word in alone] or all(re.fullmatch(pattern, entry) for entry in entries)
    else:
        fits = (empty and value in (None, "")) or re.fullmatch(pattern, str(value)) is not None
    return "" if fits else form


def truth(value: Any) -> bool | None:
    """What is written for true and false, as Ansible and esxcli read it; None where it is neither."""
    word = str(value).strip().lower()
    return word in BOOLEANS_TRUE if word in BOOLEANS else None


def _memory(value: Any) -> str:
    found = re.match(r"^(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?$", str(value).lower())
    least = found and float(found[1]) * 1024 ** " kmgt".index(found[2] or " ") >= 2**20
    return "" if least or value in (None, "") else "a size from 1m, as 1g"


def _kernel_settings(value: Any) -> str:
    if isinstance(value, Mapping) and "atsSupport" in value and truth(value["atsSupport"]) is None:
        return "a mapping with true or false for atsSupport"
    for name in value if isinstance(value, Mapping) else ():
        if difflib.get_close_matches(str(name).lower(), ["atssupport"], 1, 0.8) not in ([], [str(name).lower()]):
            return f"the name atsSupport ({name} is like it)"
    return ""


def _account(value: Any) -> str:
    given = {key: str(said) for key, said in dict(value or {}).items()}
    numbers = [int(given[key]) if given.get(key, "").isdigit() else 0 for key in ("uid", "gid")]
    whole = set(given) == {"name", "uid", "gid", "home"} and min(numbers) > 0 and given["name"] != "root"
    if given and not (whole and given["home"].startswith("/")):
        return "name, uid, gid and home of an account of the image that is not root, or nothing"
    return ""


def _environment(value: Any) -> str:
    for name, said in dict(value or {}).items():
        if not re.match(r"^[A-Za-z_]\w*$", str(name)) or isinstance(said, (list, Mapping)):
            return f"names of letters, digits and _, each with one value ({name} is none)"
    return ""


def _max_unavailable(value: Any) -> str:
    try:
        schedule.batch_size(value, 100)
    except ValueError:
        return "a number of hosts from 1, or a percentage as '25%'"
    return ""


def _change_window(value: Any) -> str:
    if not isinstance(value, (list, tuple, Mapping)):
        return "" if value == "" else f"windows as {_WINDOW}"
    try:
        schedule.change_window(value, datetime.datetime.now(datetime.timezone.utc))
    except (ValueError, TypeError, AttributeError) as error:
        return f"windows as {_WINDOW} ({str(error).partition(' What to do')[0]})"
    return ""


def _driver(value: Any) -> str:
    known = str(value) in table("drivers") or re.fullmatch(r"[a-z_][a-z0-9_]*(\.[a-z_][a-z0-9_]*){2}", str(value))
    return "" if known else f"{', '.join(table('drivers'))}, or a role"


# The forms that are more than a pattern: which of them a variable has is in values.yml.
_FORMS: Mapping[str, Callable[[Any], str]] = {each.__name__[1:]: each for each in (
    _server, _environment, _memory, _account, _kernel_settings, _network, _address,
    _change_window, _max_unavailable, _rails, _driver,
)}  # fmt: skip


_TABLES = Sentences(__file__, "values.yml")


@functools.lru_cache(maxsize=None)
def table(name: str) -> Any:
    """One of values.yml by its name; of rows that name variables in ``of`` a mapping of these."""
    rows = _TABLES.table[name]
    if not isinstance(rows, list) or "of" not in rows[0]:
        return rows
    return {each: {key: row[key] for key in row if key != "of"} for row in rows for each in row["of"]}


@functools.lru_cache(maxsize=None)
def forms() -> Mapping[str, Callable[[Any], str]]:
    """Variable, or key of one -> what gives the form that was expected, or nothing where the value has it."""
    own = {name: _FORMS[form] for name, form in table("forms").items()}
    return {**own, **{name: functools.partial(_pattern, **entry) for name, entry in table("patterns").items()}}


def is_secret(name: str, option: Mapping[str, Any]) -> bool:
    """An environment may hold one."""
    return bool(option.get("no_log")) or name.endswith(("password", "_pass", "_token", "_env"))


def refusals(name: str, option: Mapping[str, Any], value: Any) -> Iterator[str]:
    """What was expected, of a value that has its type: nothing where range and form are right."""
    text, secret = str(value or ""), is_secret(name, option)
    if (secret and _NO_SECRET.match(text)) or ((secret or option.get("type") == "str") and _PLACEHOLDER.match(text)):
        yield "the real one, not a placeholder"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        default = option.get("default")
        negative = isinstance(default, (int, float)) and default < 0
        wanted: Mapping[str, Any] = table("ranges").get(name) or ({} if negative else {"least": 0})
        least, most, also = wanted.get("least", 0), wanted.get("most"), wanted.get("also")
        inside = not wanted or value == also or (least <= value and (most is None or value <= most))
        if not inside:
            text = f"{least} or more" if most is None else f"{least} to {most}"
            yield text if also is None else f"{also} or {text}"
    known = table("words").get(name)
    if known and not {str(each).partition("*")[0] for each in value or ()} <= set(known):
        yield f"a list of {', '.join(known)}"
    ending = next((entry for end, entry in table("by_end").items() if name.endswith(end)), None)
    judge = forms().get(name) or (ending and functools.partial(_pattern, **ending))
    form = judge(value) if judge else ""
    if form:
        yield form
    if isinstance(value, Mapping):
        for key, each in (option.get("options") or {}).items():
            if value.get(key) is not None:
                yield from (f"{key}: {words}" for words in refusals(f"{name}.{key}", each, value[key]))


def shown(value: Any, *, secret: bool, most: int = 60) -> str:
    if secret:
        return f"{len(value)} characters that are not shown" if isinstance(value, str) else f"a {type(value).__name__}"
    text = repr(value)
    return text if len(text) <= most else f"{text[:most]}..."


def plain(value: Any) -> Any:
    """Values of an inventory without Ansible's types around them."""
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple, set)):
        return [plain(each) for each in value]
    # What a vault keeps is a sequence of characters and no text in ansible-core before 2.19.
    return str(value) if isinstance(value, Sequence) and not isinstance(value, bytes) else value
