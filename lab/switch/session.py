"""One SSH session: terminal, echo, prompts, paging, delays, and the faults that concern a session."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import Optional

import asyncssh

from .grammar import CONFIG, USER, Cli, execute
from .state import Switch

WIZARD = """
NVIDIA Switch (SIMULATED)

Configuration wizard

Do you want to use the wizard for initial configuration?
Please answer 'yes' or 'no'.
Do you want to use the wizard for initial configuration? """
# The sentence is that of a first login; that an old password leads to the same one is synthetic.
EXPIRED = """
Your password has expired. (synthetic wording)
New password for 'admin' account must be typed, please enter new password: """
MOTD = """
NVIDIA Switch (SIMULATED by the rocemesh lab: no hardware behind this prompt)

"""
_PAGE_MARK = "\x1b[7mlines {0}-{1} \x1b[27m"
_ERASE_LINE = "\r\x1b[K"


@dataclasses.dataclass(frozen=True)
class Delays:
    command: float = 0.0  # seconds before each answer
    login: float = 0.0  # seconds between authentication and the first prompt


class Cut(Exception):
    """The session ends without a word."""


class Session:
    def __init__(self, process: asyncssh.SSHServerProcess[bytes], switch: Switch, delays: Delays) -> None:
        self._process = process
        self._switch = switch
        self._delays = delays
        self._cli = Cli(switch)
        self._tty = process.term_type is not None
        self._rows = process.term_size[1] or 24
        self._lines = {"all": 0, "config": 0}
        self._skip_newline = False

    # --- terminal

    def _write(self, text: str) -> None:
        data = text.replace("\n", "\r\n").encode()
        pieces = self._switch.faults.get("chunks")
        size = int(pieces["size"]) if pieces else len(data)
        for start in range(0, len(data), size or 1):
            self._process.stdout.write(data[start : start + size])

    async def _key(self) -> str:
        data = await self._process.stdin.read(1)
        if not data:
            raise Cut
        return data.decode("latin-1")

    async def _read_line(self, echo: bool = True) -> str:
        """One typed line, with the little editing that a person expects."""
        typed = ""
        while True:
            key = await self._key()
            if key == "\n" and self._skip_newline:
                self._skip_newline = False
                continue
            self._skip_newline = key == "\r"
            if key in "\r\n":
                if self._tty:
                    self._write("\n")
                return typed
            if key == "\x00":
                continue
            if key in "\x7f\x08":
                if typed and self._tty and echo:
                    self._write("\b \b")
                typed = typed[:-1]
            elif key == "\x03":
                if self._tty:
                    self._write("^C\n")
                return ""
            elif key == "\x04" and not typed:
                raise Cut
            else:
                typed += key
                if self._tty and echo:
                    self._write(key)

    async def _print(self, text: str) -> None:
        lines = text.split("\n")
        page = max(self._rows - 1, 5)
        if not (self._tty and self._cli.paging and len(lines) > page):
            self._write(text + "\n")
            return
        for start in range(0, len(lines), page):
            self._write("\n".join(lines[start : start + page]) + "\n")
            if start + page >= len(lines):
                return
            self._write(_PAGE_MARK.format(start + 1, start + page))
            key = await self._key()
            self._write(_ERASE_LINE)
            if key == "q":
                return

    # --- conversation

    async def run(self) -> None:
        if self._process.command is not None:
            self._write("UNIX shell commands cannot be executed using this account.\n")
            self._process.exit(1)
            return
        self._switch.log.sessions += 1
        try:
            await self._login()
            while not self._cli.closed:
                if self._tty:
                    self._write(self._cli.prompt())
                await self._answer(await self._read_line())
            self._process.exit(0)
        except (Cut, asyncssh.Error, ConnectionError):
            self._process.channel.get_connection().abort()
        except (asyncssh.BreakReceived, asyncssh.TerminalSizeChanged):  # the terminal went away
            self._process.exit(0)

    async def _login(self) -> None:
        faults = self._switch.faults
        silent = faults.get("silent")
        if silent and silent.get("phase", "prompt") == "prompt":
            while True:  # swallow whatever is typed, say nothing
                await self._key()
        slow = faults.get("slow") or {}
        await asyncio.sleep(float(slow.get("login_delay", self._delays.login)))
        if faults.get("wizard"):
            self._write(WIZARD)
            while True:
                answer = await self._read_line()
                self._write("Please answer 'yes' or 'no'.\n" if answer else "")
        if faults.get("password_expired"):
            self._write(EXPIRED)
            while True:
                await self._read_line(echo=False)
                self._write("\nConfirm: ")
        if self._tty:
            self._write(MOTD)
        motd = faults.get("motd")
        if motd:
            self._write(str(motd["text"]) + "\n")

    async def _answer(self, line: str) -> None:
        faults = self._switch.faults
        if not line.strip():
            return
        silent = faults.get("silent")
        if silent and silent.get("phase") == "command":
            while True:
                await self._key()
        self._switch.log.lines.append(line)
        slow = faults.get("slow", line=line) or {}
        await asyncio.sleep(float(slow.get("command_delay", self._delays.command)))
        self._lines["all"] += 1
        configures = self._cli.mode == CONFIG and not line.split(maxsplit=1)[0].startswith("sh")
        self._lines["config"] += configures
        cut = faults.get("cut_after")
        scope = str(cut.get("scope", "config")) if cut else "all"
        if cut and (scope == "all" or configures) and self._lines[scope] >= int(cut["lines"]):
            faults.spend(cut)
            if cut.get("executed"):
                execute(self._cli, line)
            raise Cut
        if self._cli.mode == USER and line.strip() == "enable" and faults.get("enable_password"):
            self._write("Password: ")
            await self._read_line(echo=False)
            self._write("% Access denied (synthetic wording)\n")
            return
        if faults.get("confirm", line=line):
            self._write("Type 'YES' to confirm: ")
            if (await self._read_line()).strip().upper() != "YES":
                return
        output = execute(self._cli, line)
        if output:
            await self._print(output)


async def serve_session(
    process: asyncssh.SSHServerProcess[bytes], switch: Switch, delays: Optional[Delays] = None
) -> None:
    await Session(process, switch, delays or Delays()).run()
