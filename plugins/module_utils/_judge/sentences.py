"""What a judge says, as data: a YAML file beside the code that finds it.

CODE: {FIELD: text in which words in braces are filled in, ...}
"""

from __future__ import annotations

from typing import Any

from .._layer import RefusedError
from .._yaml_files import Beside
from .finding import PROBLEM, Finding


class Sentences(Beside):
    def say(self, code: str, /, **words: Any) -> dict[str, str]:
        """The fields of a code with their words."""
        return {field: text.format(**words) for field, text in self.table[code].items()}

    def finding(self, code: str, place: Any, level: str = "", **words: Any) -> Finding:
        """``level``: another than the table says; without a thing the code is it."""
        said = {"thing": code, "remedy": "", "level": PROBLEM, **self.say(code, **{"place": place, **words})}
        return Finding(place, said["thing"], said["text"], said["remedy"], level or said["level"], code)


_REFUSALS = Sentences(__file__, "refusals.yml")


def refusal(code: str, value: Any = None, *, no_plan: bool = False, **words: Any) -> RefusedError:
    """``value``: what is refused."""
    said: dict[str, Any] = {**_REFUSALS.say(code, **words), **({"no_plan": True} if no_plan else {})}
    return RefusedError(said.pop("what"), value=value, **said)
