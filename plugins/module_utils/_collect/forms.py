"""Find secrets that no inventory names, by the text beside them and by how they look.

A text is read twice: as it is, and with its escapes taken away (JSON at any depth, percent, XML, Python). So one
pattern finds a setting in a file, in a module's result and in the request that carried it. Forms: RFC 7468 (PEM), RFC
9110 (Authorization), RFC 3986 (userinfo), crypt(5), and prefixes of tokens as their vendors document them.
"""

from __future__ import annotations

import base64
import binascii
import bisect
import html
import re
from typing import Callable, Iterator, NamedTuple, Pattern

# Value of a setting: in quotes, in a block of YAML, or a word. A word ends at a blank; rather too much than half.
_VALUE = (
    r"(?:\"(?P<value>(?:[^\"\\\n]|\\[^\n])*)\"|'(?P<single>[^'\n]*)'|[>|][+-]?\d?[ \t]*\n[ \t]+(?P<block>[^\n\"']+)"
    r"|[\"']?(?P<word>[^\s\"'<>]+))"
)
# Words that end the name of a secret.
_STRONG = (
    r"(?:pass[_-]?(?:word|wd|phrase|key|code|nt\w*|lm)|passwort|(?<![a-z])pwd(?![\"']?[ \t]*[:=][ \t]*[\"']?/)"
    r"|secret[_-]?(?:access[_-]?)?key|secret(?:[ _-]?id)?|(?<![a-z])cak"
    r"|token|api[_-]?key|(?:access|account|private|preshared|shared|auth|authentication|unseal|encryption|fernet|client"
    r"|certificate|wep|licen[cs]e|routing|accesskey)[_-]?key\d?(?:[_-](?:data|id))?|(?<!\b[lpqr])[_-](?:key|pass|pw)"
    r"|credential|authtok|bind_?pw|rootpw|psk|keysafe|dockerconfigjson|private-mac|\b_auth|\bauth(?=\"))"
)
# What says how a secret is written, behind its name.
_WRITTEN = r"(?:[_-](?:base\d*|b64|hex|value|text|string|hash|sha\d+))*"
_SEPARATOR = r"[ \t]*(?::=|=>|::?|==?|\.{3,}[ \t]*:?)[ \t]*"
# The rest of a header: to the end of the quotes around it or of the line, with values that are quoted in it.
_HEADER = r"[\"']?[ \t]*[:=][ \t]*[\"']?(?P<value>(?:[^\"'\n]|(?<==)\"[^\"\n]*\")+)"
# Where a line begins and ends, also one that is the whole of a quoted text or of an element.
_START = r"(?:^|(?<=[\"'>=]))"
_END = r"(?=[ \t]*(?:$|[\"'<]))"
_WORD = r"(?P<word>[^\s\"'<>]+)"
_CHOSEN = rf"[\"']?{_WORD}"


# Accounts of every system: alone before the @ of an address they are no secret, and name no person.
USERS = frozenset({"root", "admin", "ubuntu", "nvidia", "git", "ec2-user", "core", "debian", "nobody", "user"})


class _Form(NamedTuple):
    """``words``: one of them has to stand in the text (in small letters). ``judge``: which values count."""

    words: tuple[str, ...]
    pattern: Pattern[str]
    judge: Callable[[str], bool] = bool


def _form(words: str, pattern: str, judge: Callable[[str], bool] = bool) -> _Form:
    return _Form(tuple(words.split()), re.compile(pattern, re.IGNORECASE | re.MULTILINE), judge)


_PROSE = re.compile(r"[a-z]+|[A-Z][a-z]+|[A-Z]+|[\d.:*/x%-]+|[/$(\[{&|=-].*|[a-z]+[/.()][a-z()]*", re.DOTALL)


def is_chosen(value: str) -> bool:
    """Whether a word is more than a word of prose, a figure, an address, a path or an option."""
    bare = value.rstrip(".,:;)]}!?") or value
    return len(value) >= 4 and (value[-1] in "!=" or is_mixed(value) or not _PROSE.fullmatch(bare))


def is_random(value: str) -> bool:
    """Whether a value looks as if a machine made it."""
    return bool(re.fullmatch(r"[0-9a-f]{24,}|[0-9a-z]{24,}", value, re.IGNORECASE)) or is_mixed(value)


def is_mixed(value: str) -> bool:
    """Capitals, small letters and digits that change as often as in a random text; names in programs do not."""
    if len(value) < 20:
        return False
    kinds = ["d" if each.isdigit() else "u" if each.isupper() else "l" if each.islower() else "" for each in value]
    pairs = [(one, other) for one, other in zip(kinds, kinds[1:]) if one and other]
    changes = sum(one != other for one, other in pairs)
    return {"d", "u", "l"} <= set(kinds) and changes >= 0.38 * len(pairs) and len(pairs) >= 12


_PEM = "[A-Z0-9 ]+"
_NEAR = r"[^\n|;]{0,240}?"
_FORMS = (
    # One that was cut reaches to the next, or to the end: rather too much than half a key.
    _form("-----begin", rf"-----BEGIN {_PEM}-----(?s:(?!-----BEGIN).)*?(?:-----END {_PEM}-----|(?=-----BEGIN)|\Z)"),
    _form("://", r"(?<=://)(?P<value>[^/\s\"'<>]+)(?=@)"),
    _form(
        "pass pw key secret token credential authtok psk dockerconfigjson auth private-mac cak",
        rf"{_STRONG}s?\d?{_WRITTEN}[\"'\])]{{0,2}}{_SEPARATOR}(?:(?:Bearer|Basic|Token|Digest)[ \t]+"
        rf"|\{{[^{{}}\n]{{0,80}}\bvalue[\"']?{_SEPARATOR}|0x[0-9a-f]+[ \t]+(?=\"))?{_VALUE}",
    ),
    # The words of other languages, and names that are secrets in some places only.
    _form(
        "contrase senha passe kennwort wachtwoord hasł парол 密码 communit recovery backup",
        rf"(?:contrase\w+|senha|mot[ _]de[ _]passe|kennwort|wachtwoord|hasło|пароль|密码"
        rf"|communit(?:y|ies)(?:[ \t]+string)?|\b(?:recovery|backup)[ _-]code)s?[\"']?{_SEPARATOR}{_VALUE}",
        is_chosen,
    ),
    _form(
        "pin", r"(?<![\w.])(?:so-)?pin(?:[ \t]+(?:for|of)[^\n:=]{0,24})?(?:[ \t]*[:=][ \t]*|[ \t]+)(?P<word>\d{4,12})\b"
    ),
    # A table of Markdown.
    _form("pass secret token key", rf"\|[ \t]*[\w -]{{0,40}}{_STRONG}[ \t]*\|[ \t]*(?P<word>[^\s|]+)", is_chosen),
    # Digits of a key, which only the words beside it tell from a digest.
    _form(
        "key psk crypt rfc crumb secret",
        r"\b(?:[\w-]*(?:key|psk)|crypt|[\w-]*crumb|secret|rfc\d+\([\w()]+\))(?![\w-])[^\n]{0,40}?(?<![\w:])(?:0x)?"
        r"(?P<value>[0-9a-f]{32,})\b|_key[ \t]+0x(?P<second>[0-9a-f]{16})\b",
    ),
    _form(":", r":(?P<value>(?<!sha512:)[0-9a-f]{96,}\b|[0-9a-f]{32}:[0-9a-f]{32}(?=:))"),
    _form(":", r"\b(?P<value>[0-9a-z]{16,}(?::[0-9a-z]{16,})+)\b", lambda value: is_mixed(value.replace(":", ""))),
    _form(
        "pass pw",
        rf"(?:(?<![a-z])|ssh|store|storage|bind|root|require|db|smtp|bmc|admin|user|ldap|esx)(?:pass|pw)[\"']?{_SEPARATOR}"
        rf"{_VALUE}",
        is_chosen,
    ),
    # A name that may be anything, if a machine made the value.
    _form(
        'key auth sig code session sid data encrypt digest cookie response "d" secret',
        r"(?<!\w)(?:[\w.]{0,40}(?:key|auth|sig|signature|cookie)|(?:\w+[._])?(?:code|session(?:_?id)?|sid|data|encrypt"
        rf"|response)|d)[\"']?(?:[ \t]+\d)?{_SEPARATOR}[\"']?(?:key,)?(?P<value>[\w+/=.-]{{20,}})",
        is_random,
    ),
    _form("key", rf"{_START}[ \t]*key[ \t]*=[ \t]*[\"'](?P<value>[^\"'\n]+)"),
    _form("cookie authorization authenticate", rf"\b(?:[\w-]*authorization|www-authenticate|(?:set-)?cookie){_HEADER}"),
    _form(
        "x- session-id -token -cookie _cookie",
        rf"\b(?:x-[\w-]{{0,40}}(?:auth|token|key)|[\w-]{{0,40}}session-id|private-token|\w+[-_]cookie)"
        rf"(?=[\"']?[ \t]*[:=]){_HEADER}",
    ),
    _form(
        "session ticket",
        r"vmware_soap_session=[\"']?(?P<value>[\w-]+)|jsessionid[=:][ \t]*(?P<word>\w+)"
        rf"|\bticket{_SEPARATOR}\"(?P<second>[\w-]{{16,}})",
    ),
    _form(
        "token key secret pass pwd sig auth code credential sid session",
        r"[?&#;](?:[\w-]{0,40}(?:token|key|secret|password|passwd|pass|pwd|sig|signature|auth|code|credential)|sid)="
        r"(?P<value>[^&\s\"'<>]+)",
    ),
    # The option ends with the word: --password-file and --token-ca-cert-hash name no secret.
    _form(
        "pass -pw token secret key creds bearer cookie",
        rf"(?<![\w-])(?:--?|\+)[\w-]{{0,64}}(?:{_STRONG}|[a-z]{{3,10}}key|creds|bearer|cookie|pass(?:in|out)?|pw)"
        rf"(?:[ =](?![-=<])|[ =]pass:){_CHOSEN}",
    ),
    # An element of XML, a list of names and values.
    _form(
        "pass secret token signaturevalue",
        rf"<(?:\w+:)?(?:[\w.-]{{0,40}}(?:{_STRONG}|signaturevalue)){_WRITTEN}\b[^>\n]{{0,120}}>(?:\s*<value>)?(?P<value>[^<\n]+)"
        rf"|<key>[\w.-]{{0,40}}{_STRONG}</key>\s*<value>(?P<single>[^<\n]+)"
        rf"|=\"[\w.#-]{{0,60}}{_STRONG}\">(?P<block>[^<\n]+)",
    ),
    _form(
        "pass secret token key",
        rf"(?:name|key)[\"']?[ \t]*[:=][ \t]*[\"']?[\w.-]{{0,64}}{_STRONG}[\"']?,?\s+"
        rf"[\"']?(?:\w+:)?value[\"']?[ \t]*[:=][ \t]*{_VALUE}"
        rf"|[\"'][\w.-]{{0,64}}{_STRONG}[\"'],[ \t]*[\"'](?P<second>[^\"'\n]+)",
    ),
    # A word before the secret, without a sign between them: commands, prose, netrc, switches.
    _form(
        "pass secret community bindpw rootpw key- psk cleartext securestring authtok identified",
        r"(?<![\w-])[\w-]{0,40}(?:password|passwd|passphrase|passkey|passwort|pwd|secret|auth_pass|bindpw"
        r"|rootpw|requirepass|authtok|community6?|key-(?:octet-)?string|psk|cleartext"
        r"|become_pass|bind-password|ConvertTo-SecureString|identified[ \t]+by|secret-set-value[ \t]+\S+)"
        r"(?:[ \t]+(?:is|was|string|password|--iscrypted|set|to|-v|--value|REG_SZ|sha\d*|md5|\d{1,2}"
        r"|read|write|add|cipher|[a-z]+(?:,[a-z]+)+))*"
        rf"[ \t]+[\"']?(?={_WORD})",
        is_chosen,
    ),
    _form("pass", rf"^[ \t]*(?:neighbor[ \t]+\S+[ \t]+)?(?:enable[ \t]+)?password[ \t]+{_WORD}[ \t]*$"),
    _form("pass", r"\b(?:neighbor|login)[ \t]+(?!as\b)\S+[ \t]+password[ \t]+(?P<word>[^\s\"'}<]+)"),
    _form(
        "key authentication",
        rf"\b(?:(?:tacacs|radius|ldap)[\w-]*\b{_NEAR}[ \t]key|authentication-key|message-digest-key"
        r"|(?:authentication|isakmp)[ \t]+(?:key|[\w-]*text)|key-(?:octet-)?string)"
        r"(?:[ \t]+(?:\d{1,3}|md5|sha\w*))*[ \t]+[\"']?(?P<word>[^\s\"'<>]{4,})",
    ),
    _form(
        "auth priv encrypt",
        rf"\b(?:auth|priv|encrypt)[ \t-]+(?:(?:md5|sha\w*|des|3des|aes)(?:[ \t-]+\d{{3}})?[ \t]+(?:0x)?|0x){_WORD}",
    ),
    _form(
        "snmp com2sec c=",
        rf"\bsnmp-server[ \t]+(?:community|host[^\n]*version[ \t]+(?:1|2c))[ \t]+{_CHOSEN}"
        r"|\blan[ \t]+set[ \t]+\d+[ \t]+snmp[ \t]+(?P<value>\S+)|\bC=\"(?P<second>[^\"\n]+)\"[ \t]+\w+\("
        rf"|\bcom2sec6?\b[^\n]*[ \t](?P<single>[^\s\"'<>]+){_END}",
    ),
    # A name and a value, alone in their line or lines; a value that changes.
    _form(
        "pass secret token key communit cak",
        rf"{_START}[ \t-]*[\w.-]{{0,40}}(?:{_STRONG}|communit(?:y|ies)){_WRITTEN}(?:[ \t]+|[\"']?:[ \t]*\n[ \t]*)[\"']?"
        rf"(?P<word>[^\s\"'<>]+?)[\"':]?{_END}",
        is_chosen,
    ),
    _form("->", rf"{_STRONG}[^\n]{{0,60}}\" -> \"(?P<value>[^\"\n]+)"),
    # What programs and people say of a password; what it was and what it becomes.
    _form(
        "pass credential",
        r"\b(?:pass(?:word|phrase|code)|credential)s?(?:[ \t]+[^\s:=]+){0,6}?(?:[ \t]+(?:is|/)|:)[ \t]+[\"']?"
        r"(?P<word>(?![a-z]+[\s.,;)])[^\s\"'<>]+)"
        r"|\bpass[^\n]{0,60}?[ \t]from[ \t]+(?P<value>'[^'\n]*'[ \t]+to[ \t]+'[^'\n]*')",
        is_chosen,
    ),
    _form(
        "become_pass wandb hashed /rp",
        rf"(?:become_pass(?:word)?|\bwandb[ \t]+login|hashed-password|[ \t]/rp)[ \t]+{_CHOSEN}",
    ),
    # Options whose value is user and password, of any command.
    _form(
        " -u -l -a user",
        rf"(?<![\w.-])(?:(?:-[uUla]|--(?:[\w-]+-)?user)[ =]|user[ \t]*=[ \t]*)[\"']?[\w.@$\\-]+[:%]{_WORD}",
        is_chosen,
    ),
    # The password beside the user: of a command, a login, a connection, a call.
    _form(
        " -p",
        r"(?<!\S)[\"']?(?:-[uUl]|--user(?:name)?)[ =][^\s-]\S*[^\n|;]{0,160}?[ \t]-[pP](?:[ \t]+|(?=\D))[\"']?"
        rf"{_WORD}",
        is_chosen,
    ),
    _form("login add_user", rf"\b(?:login|add_user|change_password)[ \t]+(?!as\b)[\w.@-]+[ \t]+{_CHOSEN}", is_chosen),
    _form("pass", rf"(?<![\w-])(?-i:PASS)[ \t]+{_WORD}", is_chosen),
    _form("auth", r"\"AUTH\"[ \t]+(?:\"[^\"\n]*\"[ \t]+)?\"(?P<value>[^\"\n]+)\""),
    _form("auth-user-pass", r"<auth-user-pass>\s+\S+\s+(?P<word>\S+)"),
    _form("auth", r"auth[ \t]*=?[ \t]*\([ \t]*[\"'][^\"'\n]*[\"'],[ \t]*[\"'](?P<value>[^\"'\n]+)"),
    _form(
        "auth login digest",
        r"\b(?:auth|login|digest)[ \t=]+(?!sha\d)[\w.-]+:(?P<word>[^\s\"'<>:/]+)(?![^\s\"'<>])",
        is_chosen,
    ),
    _form("@", r"(?<![\w/])[\w.-]+:(?P<word>[^\s\"'<>:@/]{4,})@(?!sha\d)(?=[\w(\[])", is_chosen),
    _form(":", r":[ \t]*(?:EAP|PSK|XAUTH|NTLM)[ \t]+[\"'](?P<value>[^\"'\n]+)"),
    # What a program is enrolled with.
    _form("enable attach register join", r"\b(?:enable|attach|register|join)[ \t]+(?P<word>[\w.-]{24,})", is_random),
    # What is piped into a command that reads a password.
    _form(
        "echo printf <<<",
        r"\b(?:echo|printf)[ \t]+(?:-\w+[ \t]+)?[\"']?(?:[\w-]+:)?(?P<word>[^\s\"'|]+)[\"']?\s*(?:\||\n\++)[ \t]*"
        r"(?:sudo[ \t]+)?(?:chpasswd|passwd|sudo[ \t]+-S|kinit|realm|cryptsetup|smbpasswd|keepass\S*"
        r"|[^\n|]{0,80}(?:stdin|[ \t]-(?![^\s\"'<])))"
        r"|stdin[ \t]+<<<[ \t]*[\"']?(?P<second>[^\s\"']+)",
    ),
    _form("send", r"pass[^\n]{0,40}\bsend[ \t]+(?:--[ \t]+)?\"(?P<value>[^\"\r\n]+)"),
    _form("send", r"\bsend[ \t]+(?:--[ \t]+)?\"(?P<value>[^\s\"\\]+)(?:\\[rn]|[\r\n])+\"", is_chosen),
    _form("secret,", r"\bsecret,\S*\bdata=(?P<word>[^\s\"'<>,]+)"),
    _form("enable", r"\benable[\"'],[ \t]*[\"']input[\"']:[ \t]*[\"'](?P<value>[^\"'\n]+)"),
    _form("send", r"\bsend[ \t]+(?:--[ \t]+)?\"(?P<value>[^\"\r\n\\]+)[^\"]{0,4}\"[^\n]{0,40}pass"),
    _form("-p", r"\"-(?:p|P|w)\"[ \t]+\w+=\"(?P<value>[^\"\n]+)"),
    # Addresses that open something by themselves.
    _form(
        "://", r"://[^\s\"'<>]*?(?:webhook\w*|hooks\.[\w.]+/\w+|/ticket|/bot|/t(?=/\w\w-))(?P<value>[/\d][^\s\"'<>]+)"
    ),
    # Hashes of passwords.
    _form("$", r"(?<![\w$])(?P<value>\$(?:\w\w?|apr1|argon2\w*|scrypt|pbkdf2[\w-]*|sha\d+)\$[^\s\"':<>]{8,})"),
    _form("pkcs7", r"PKCS7\[(?P<value>[^\]\n]+)\]"),
    _form("$krb5 $ansible", r"(?P<value>\$krb5\w+\$\S+|\$ANSIBLE_VAULT;[\w.;-]+(?:\s+[0-9a-f]{20,})*)"),
    _form("{", r"\{(?:S?SHA\d*|S?MD5|CRYPT)\}(?P<value>[\w+/=.$]{8,})"),
    _form("grub md5 *", r"(?:grub\.pbkdf2\.|\bmd5(?=[0-9a-f]{32}\b)|[\"']\*(?=[0-9a-f]{40}\b))(?P<value>[\w.]+)"),
    _form("random secret", r"\b(?:\w+_RANDOM|\w+_SECRET\w*)[ \t]+[0-9a-f]{64}[ \t]+(?P<value>[0-9a-f]{32,})"),
    # Keys of recovery and licences, in groups; tokens of kubeadm; the last column of a jar of cookies.
    _form(
        "- .",
        r"(?<![\w-])(?P<value>(?:\d{6}-){7}\d{6}|(?-i:(?:[0-9A-Z]{5}-){4}[0-9A-Z]{5})|(?-i:[a-z0-9]{6}\.(?=\w*\d)[a-z0-9]{16}))"
        r"(?![\w.-])",
    ),
    _form("true false", r"\t(?:TRUE|FALSE)\t\d+\t\S+\t(?P<word>\S+)"),
    _form(
        "key password secret",
        rf"\b(?:key\b[^\n]{{0,100}}[ \t]7(?=[ \t]+\S{{8}})|(?:password|secret)[ \t]+\d{{1,2}})[ \t]+{_CHOSEN}",
    ),
    # Tokens that say themselves what they are.
    _form(
        "nvapi gh glpat akia asia xox sk- k_ munge ls0t eyj ssh- ecdsa age- vct key dop_ hvs tskey pul ruby swm hf_",
        r"\b(?P<value>nvapi-[\w-]{20,}|gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|(?:AKIA|ASIA)[0-9A-Z]{16}"
        r"|xox[abprs]-[\w-]{10,}|sk-(?:proj-|ant-)?[\w-]{24,}|[sr]k_(?:live|test)_\w{16,}|MUNGE:[\w+/=]+:?"
        r"|LS0tLS1CRUdJTi[\w+/=]+|eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*"
        r"|(?:ssh-(?:rsa|ed25519|dss)|ecdsa-sha2-\w+)[ \t]+AAAA[\w+/=]+"
        r"|AGE-SECRET-KEY-\w{20,}|cst-VCT-[\w-]{16,}|(?:key|dop_v1|pul|rubygems)[-_][0-9a-f]{32,}|hvs\.[\w-]{20,}"
        r"|tskey-\w+-[\w-]{10,}|SWMTKN-[\w-]{20,}|hf_\w{20,})",
    ),
    _form("_", r"\b(?P<value>[a-z]{2,8}(?:_[a-z]{2,8})?_[0-9a-f]{32,}(?:\.\w{20,})?)\b"),
    _form("su sa so sn", r"\b(?P<value>(?-i:S[UAON][A-Z2-7]{56}))\b"),
    _form("0x", r"\b(?P<value>0x[0-9a-f]{32,})\b"),
    _form("session", r"\bsessions?\b[^\n\"']{0,60}[\"'](?P<value>[0-9a-f]{32})[\"']"),
    # Files whose places say what is what: pgpass, keys of NTP, PPP, RADIUS, SASL, one-time passwords.
    _form(":", rf"{_START}[\w.*-]+:\d{{2,5}}:[a-z*][\w.-]*:[a-z*][\w.-]*:(?P<word>[^\s\"'<>:]+){_END}", is_chosen),
    _form(
        "m md sha aes",
        rf"{_START}[ \t]*\d{{1,5}}[ \t]+(?:M|MD5|SHA\d*|AES\d*)[ \t]+(?:HEX:|ASCII:)?(?P<word>[^\s\"'<>]{{4,}}){_END}",
    ),
    _form(
        "*",
        rf"{_START}[ \t]*[\"']?[\w.@-]+[\"']?[ \t]+\*[ \t]+[\"']?(?P<word>[^\s\"'<>*]+)[\"']?[ \t]+\*?{_END}",
        is_chosen,
    ),
    _form(".", rf"{_START}(?:\d{{1,3}}\.){{3}}\d{{1,3}}(?::\d+)?[ \t]+{_WORD}[ \t]+\d{{1,2}}{_END}", is_chosen),
    _form("]", rf"{_START}\[[\w.-]+\](?::\d+)?[ \t]+[\w.@-]+:{_WORD}{_END}", is_chosen),
    _form("sink", rf"\btrap2?sink[ \t]+\S+[ \t]+{_WORD}"),
    _form("_auth rate_limit", rf"{_START}(?P<value>[A-Z2-7]{{16,}})[ \t]*\n\"[ \t]*(?:RATE_LIMIT|TOTP_AUTH|WINDOW)"),
    _form("net", r"\bnet[ \t]+use(?:[ \t]+\S+|r)[ \t]+\S+[ \t]+(?P<word>[^\s\"'<>/]+)"),
    _form("ssh-keygen", rf"\bssh-keygen\b[^\n|;]{{0,200}}[ \t]-N[ \t]+{_CHOSEN}"),
    _form("htpasswd", rf"\bhtpasswd[ \t]+[^\n|;]{{0,80}}-\w*b\w*[^\n|;\"'<]*[ \t](?P<word>[^\s\"'<>|;]+){_END}"),
)

# A command or a block, and what in it is a secret.
_BLOCKS = tuple(
    (tuple(words.split()), re.compile(block, re.IGNORECASE), re.compile(inner))
    for words, block, inner in (
        (
            "sshpass mysql mariadb ipmitool racadm login esxcli zip 7z redis pcs vnc tpm2",
            r"\b(?:sshpass|mysql\w*|mariadb\w*|ipmitool|racadm|(?:docker|podman)[ \t]+login|esxcli|zip|7z\w?|redis-cli"
            r"|pcs|x11vnc|tpm2_\w+)\b[^\n|;]{0,400}",
            rf"[ \t]-(?:[pPa][ \t]*|passwd[ \t]+){_CHOSEN}",
        ),
        ("account", r"\besxcli\b[^\n|;]{0,80}account[^\n|;]{0,200}", rf"[ \t]-c[ \t]+{_CHOSEN}"),
        ("snmp", r"\besxcli\b[^\n|;]{0,80}snmp[^\n|;]{0,200}", rf"--(?:communities|users|remote-users)[ =]{_CHOSEN}"),
        ("ldap", r"\bldap\w+\b[^\n|;]{0,400}", rf"[ \t]-(?:w|s(?![ \t]*(?:sub|base|one|child)))[ \t]*{_CHOSEN}"),
        ("snmp", r"\b(?:check_)?snmp[a-z]*\b[^\n|;]{0,400}", rf"[ \t]-[cCAX][ \t]+{_CHOSEN}"),
        ("openssl swift ipmi", r"\b(?:openssl|swift|ipmi\w+)\b[^\n|;]{0,400}", rf"[ \t]-[kKy][ \t]+{_CHOSEN}"),
        (
            "curl",
            r"\bcurl\b[^\n|;]{0,400}",
            r"[ \t](?:-u|--user|-b)[ \t=]*[\"']?(?P<value>[^\"'\n]{3,}?)(?=[\"' \t\n]|$)",
        ),
        ("createuser", r"\bcreateUser\b[^\n]{0,300}", rf"(?:MD5|SHA[\w-]*|AES[\w-]*|DES)[ \t]+{_CHOSEN}"),
        ("radtest", r"\bradtest\b[^\n|;]{0,300}", r"(?<=[ \t])(?P<word>[^\s\"'<>]*[^\s\d.\"'<>][^\s\"'<>]*)"),
        ("chpasswd", r"\bchpasswd\b[\"']?:(?:\s+[^\n]{1,200}){1,40}", r"\s[\w-]+:(?P<word>[^\s\"'<>:|]{4,})"),
        (
            "snmp_community",
            r"SNMP_COMMUNITY[\"']?[ \t]*:[^\n]{0,2000}",
            r"[\"'](?P<value>[^\"'\n]+)[\"'][ \t]*:[ \t]*\{",
        ),
    )
)
_TITLES = re.compile(
    rf"(?im){_START}(?P<before>[\w \t,|\"#-]{{0,200}}?(?P<sign>[,|])[ \t\"]*)[\w -]{{0,40}}(?:{_STRONG}|pass)"
    r"[ \t\"]*(?:[,|].*)?$"
)
_SECRET_KIND = re.compile(r"\bkind[\"']?[ \t]*:[ \t]*[\"']?Secret\b")
_SECRET_DATA = re.compile(r"\b(?:stringData|data)[\"']?[ \t]*:[ \t]*(?:\{[^}]*\}|(?:\n[ \t]+[^\n]+)+)")
_SECRET_PAIR = re.compile(r"[\w.-]+[\"']?[ \t]*:[ \t]+[\"']?(?P<word>[^\s\"'{},]{4,})")

_NO_VALUE = re.compile(
    r"[\"']?(?:|none|null|n/a|true|false|yes|no|0+|unknown|unlimited|\{\{.*|(?:(?:Bearer|Basic|Token|Digest)[ \t]+)?"
    r"(?:\[secret-\d+\]?)+)[\"']?$",
    re.IGNORECASE,
)
_FIGURE = re.compile(r"[\d.]+$")
_PORT = re.compile(r"\d{1,5}$")

# Blobs: what is base64 or hex of a text, and what looks made by a machine.
_BASE64 = re.compile(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{16,}={0,2}")
_HEX = re.compile(r"(?<!\w)(?:0x)?(?:[0-9a-f]{2}){12,}(?!\w)", re.IGNORECASE)
_TEXT = re.compile(rb"[\t\n\r\x20-\x7e]+")


def spans(text: str) -> list[tuple[int, int, str]]:
    """Start, end and value of each secret, in order, none within another. The value is without escapes."""
    found = [(start, end, text[start:end]) for start, end in _found(text)]
    view, places = _unescaped(text)
    if places:
        found += [
            (_original(places, start, first=True), _original(places, end, first=False), view[start:end])
            for start, end in _found(view)
        ]
    joined: list[tuple[int, int, str]] = []
    for start, end, value in sorted(found, key=lambda each: (each[0], -each[1])):
        if joined and start < joined[-1][1]:
            if end > joined[-1][1]:
                joined[-1] = (joined[-1][0], end, text[joined[-1][0] : end])
        else:
            joined.append((start, end, value))
    return joined


def _found(text: str) -> Iterator[tuple[int, int]]:
    small = text.lower()
    for form in _FORMS:
        if any(word in small for word in form.words):
            for match in form.pattern.finditer(text):
                yield from _value(match, form.judge)
    for words, block, inner in _BLOCKS:
        if any(word in small for word in words):
            for outer in block.finditer(text):
                for match in inner.finditer(text, outer.start(), outer.end()):
                    yield from (each for each in _value(match, bool) if not _PORT.match(text[each[0] : each[1]]))
    if _SECRET_KIND.search(text):
        for outer in _SECRET_DATA.finditer(text):
            for match in _SECRET_PAIR.finditer(text, text.index(":", outer.start()) + 1, outer.end()):
                yield from _value(match, bool)
    for title in _TITLES.finditer(text):
        yield from _column(text, title)
    yield from _blobs(text)


def _column(text: str, title: re.Match[str]) -> Iterator[tuple[int, int]]:
    """The cells under a title, as far as the rows have as many of them."""
    place, sign, number = title.end() + 1, title["sign"], title["before"].count(title["sign"])
    for row in text[place:].split("\n"):
        cells = row.split(sign)
        if len(cells) != title[0].count(sign) + 1:
            return
        cell = cells[number].strip(' \t\r"')
        if is_chosen(cell) and " " not in cell and not _NO_VALUE.match(cell):
            start = text.index(cell, place + len(sign.join(cells[:number])))
            yield start, start + len(cell)
        place += len(row) + 1


def _blobs(text: str) -> Iterator[tuple[int, int]]:
    for match in _BASE64.finditer(text):
        if is_mixed(match[0]) or _is_base64_text(match[0]):
            yield match.span()
    for match in _HEX.finditer(text):
        if _TEXT.fullmatch(binascii.unhexlify(match[0][2:] if match[0][:2] in ("0x", "0X") else match[0])):
            yield match.span()


def _value(match: re.Match[str], judge: Callable[[str], bool]) -> Iterator[tuple[int, int]]:
    groups = match.re.groupindex
    name = next((name for name in groups if match[name] is not None), 0)
    start, end = match.span(name)
    if name in ("word", "block"):
        end = start + len(match[name].rstrip(",;)}] \t") or match[name])
    value = match.string[start:end]
    key = match.string[match.start() : start].lower()
    # "tokens: 4096" is a figure of a job; a password may well be one.
    figure = (
        "token" in key and not key.startswith(("pin", "so-pin")) and "authorization" not in key and _FIGURE.match(value)
    )
    if name and (_NO_VALUE.match(value) or figure or not judge(value)):
        return
    if not (value in USERS and match.string.endswith("://", 0, start)):
        yield start, end


def _is_base64_text(word: str) -> bool:
    """Base64 of a text, whole or cut at its front."""
    bare = word.rstrip("=").translate(str.maketrans("-_", "+/"))
    for cut in range(4):
        rest = bare[cut:]
        rest = rest[: len(rest) - 1] if len(rest) % 4 == 1 else rest
        data = base64.b64decode(rest + "=" * (-len(rest) % 4))
        if len(data) >= 11 and _TEXT.fullmatch(data):
            return True
    return False


# One character of the text without escapes. Backslashes before a quote: JSON at any depth.
_ESCAPE = re.compile(
    r"\\+(?:[\"'/nrt]|u[0-9a-f]{4}|x[0-9a-f]{2}|&(?:amp;)*quot;)|(?:%(?:25)*5c)+%(?:25)*2[27]"
    r"|%25(?:25)*(?:2[0-9a-f]|3[a-f]|40|0[ad])"
    r"|%[0-9a-f]{2}|&(?:amp;)*(?:quot|lt|gt|amp|apos|#\d{1,6}|#x[0-9a-f]{1,5});",
    re.IGNORECASE,
)
_LETTERS = {"n": "\n", "r": "\r", "t": "\t"}


def _one(escape: str) -> str:
    if escape[0] == "%":
        return chr(int(escape[-2:], 16))
    if escape[0] == "&":
        return html.unescape("&" + escape.rpartition("&")[2].replace("amp;", "", escape.count("amp;") - 1))[:1]
    last = escape.lstrip("\\")
    return (
        chr(int(last[1:], 16))
        if last[0] in "uxUX" and len(last) > 1
        else _LETTERS.get(last, html.unescape(last.replace("amp;", "")))
    )


def _unescaped(text: str) -> tuple[str, list[tuple[int, int, int]]]:
    """The text without escapes; of each escape its place there, its start and its end here. Empty: there are none."""
    parts: list[str] = []
    places: list[tuple[int, int, int]] = []
    last = length = 0
    for match in _ESCAPE.finditer(text):
        before = text[last : match.start()]
        letter = _one(match[0])
        length += len(before)
        places.append((length, match.start(), match.end()))
        parts += [before, letter]
        length += len(letter)
        last = match.end()
    return ("".join([*parts, text[last:]]), places) if places else (text, [])


def _original(places: list[tuple[int, int, int]], place: int, first: bool) -> int:
    """Where a place of the text without escapes lies in the original: the start of a span, or the end of one."""
    index = bisect.bisect_right(places, (place if first else place - 1, 1 << 62, 0)) - 1
    if index < 0:
        return place
    at, start, end = places[index]
    if first:
        return start if at == place else end + place - at - 1
    return end + place - at - 1
