"""The settings in force: flags before environment before gligabao.toml before defaults, and where each came from."""

from __future__ import annotations

import errno
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast, get_args

from pydantic import SecretStr, ValidationError
from pydantic.fields import FieldInfo

from core.config import Config
from core.errors import InvalidRequest
from gligabao_mcp.errors import invalid

FILE_NAME = "gligabao.toml"
_PASSWORD = re.compile(r"(://[^:/@?#\s]*:)\S*(?=@)|([?&][a-z]*password=)[^&\s\"]*", re.IGNORECASE)
# Also where the home is no folder or can be none: what needs the folder says so.
_NOT_THERE = (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG)
_NOT_FILLED_IN = re.compile(r"\$\{[^{}]*\}")
_NO_TEXT = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")
FILE_VARIABLE = "GLIGABAO_CONFIG"
# What names a file or a folder. An empty one counts as not given: it would be the working folder.
PLACES = ("home", "db", "vectors", "trajectory_dir")
# The names that everybody's key is in already; GLIGABAO_… wins over them.
KNOWN_VARIABLES: Mapping[str, str] = {
    "anthropic_api_key": "ANTHROPIC_API_KEY",
    "anthropic_base_url": "ANTHROPIC_BASE_URL",
    "openai_api_key": "OPENAI_API_KEY",
    "openai_base_url": "OPENAI_BASE_URL",
    "jev_api_key": "JEV_API_KEY",
}


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings, and for each field where its value was read."""

    config: Config
    sources: Mapping[str, str]
    file: Path
    """Where gligabao.toml is, or would be."""

    def shown(self) -> list[tuple[str, str, str]]:
        """Name, value and source of every setting; secrets are masked."""
        return [(name, _masked(getattr(self.config, name)), self.sources[name]) for name in Config.model_fields]


@dataclass(frozen=True, slots=True)
class _Stated:
    value: object
    source: str


def load(flags: Mapping[str, object], environ: Mapping[str, str]) -> Settings:
    """The settings; raises InvalidRequest that names the setting, its source and the rule it breaks."""
    stated = _from_environment(environ) | _from_flags(flags)
    home = stated.get("home")
    file = Path(environ.get(FILE_VARIABLE) or home_folder(Path(str(home.value)) if home else None) / FILE_NAME)
    stated = _from_file(file, required=bool(environ.get(FILE_VARIABLE))) | stated
    try:
        config = Config.model_validate({name: one.value for name, one in stated.items()})
    except ValidationError as error:
        wrong = invalid(error, Config)
        name = (wrong.param or "").split("[")[0].split(".")[0]
        source = stated[name].source if name in stated else "default"
        raise InvalidRequest(f"setting {wrong.message} (from {source})", param=wrong.param) from None
    sources = {name: stated[name].source if name in stated else "default" for name in Config.model_fields}
    return Settings(config, sources, file)


def home_folder(home: Path | None) -> Path:
    """The folder of the database, the vectors and gligabao.toml: the one given, else the user's data folder."""
    if home is not None:
        return place(home, "home")
    import platformdirs

    try:
        return place(platformdirs.user_data_path("gligabao", appauthor=False), "home")
    except RuntimeError:
        raise InvalidRequest("home: this user has no home folder; set GLIGABAO_HOME", param="home") from None


def place(path: Path, setting: str) -> Path:
    """The full path of what a setting names; raises InvalidRequest for one that can't be used everywhere, and where the
    home folder in it is nobody's."""
    if _NO_TEXT.search(str(path)):
        raise InvalidRequest(
            f"{setting}: has control characters or is not UTF-8 (PYTHONUTF8=1 reads it so in any locale)", param=setting
        )
    try:
        return path.expanduser().absolute()
    except RuntimeError:
        raise InvalidRequest(
            f"{setting}: begins with a home folder that is not known here; give the full path", param=setting
        ) from None


def flag(name: str) -> str:
    """How a setting is spelled on the command line."""
    return "--" + name.replace("_", "-")


def variable(name: str) -> str:
    """How a setting is spelled in the environment."""
    return f"GLIGABAO_{name.upper()}"


def is_secret(field: FieldInfo) -> bool:
    """Whether a setting is kept out of flags (others can list those) and masked when shown."""
    return SecretStr in (field.annotation, *get_args(field.annotation))


def without_passwords(text: str) -> str:
    """The text with the passwords inside its addresses masked."""
    return _PASSWORD.sub(lambda found: f"{found[1] or found[2]}***", text)


def is_table(field: FieldInfo) -> bool:
    """Whether a setting is a table of gligabao.toml, which no flag and no variable can hold."""
    return getattr(field.annotation, "__origin__", None) is dict


def choices(field: FieldInfo) -> tuple[str, ...]:
    """The values that a setting can have, when they are few."""
    return get_args(field.annotation) if getattr(field.annotation, "__origin__", None) is Literal else ()


def _from_flags(flags: Mapping[str, object]) -> dict[str, _Stated]:
    return {name: _Stated(value, f"flag {flag(name)}") for name, value in flags.items() if _is_given(name, value)}


def _is_given(name: str, value: object) -> bool:
    return value is not None and not (value == "" and name in PLACES)


def _from_environment(environ: Mapping[str, str]) -> dict[str, _Stated]:
    stated: dict[str, _Stated] = {}
    for name, field in Config.model_fields.items():
        if is_table(field):
            continue
        for candidate in (variable(name), KNOWN_VARIABLES.get(name, "")):
            value = environ.get(candidate, "")
            # Hosts pass a variable that nobody set as an empty one, or as "${NAME}".
            if value and not _NOT_FILLED_IN.fullmatch(value):
                stated[name] = _Stated(_split(value) if _is_list(field) else value, f"environment {candidate}")
                break
    return stated


def _from_file(file: Path, *, required: bool) -> dict[str, _Stated]:
    try:
        read = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        if error.errno not in _NOT_THERE:
            raise InvalidRequest(f"{file} can't be read ({error.strerror})") from None
        if required:
            raise InvalidRequest(f"{FILE_VARIABLE} names a file that is not there: {file}") from None
        return {}
    except ValueError as error:
        raise InvalidRequest(f"{file} can't be read as TOML: {error}") from None
    read = _flat(read)
    if unknown := sorted(read.keys() - Config.model_fields.keys()):
        known = ", ".join(Config.model_fields)
        raise InvalidRequest(f"{file} has unknown settings: {', '.join(unknown)}; the settings are {known}")
    return {name: _Stated(value, f"file {file}") for name, value in read.items() if _is_given(name, value)}


def _flat(read: Mapping[str, object]) -> dict[str, object]:
    """The settings of the table `[ask]` under their full names: `model` there is ask_model."""
    table = read.get("ask")
    if not isinstance(table, dict):
        return dict(read)
    of_ask = {f"ask_{name}": value for name, value in cast("dict[str, object]", table).items()}
    return {**{name: value for name, value in read.items() if name != "ask"}, **of_ask}


def _is_list(field: FieldInfo) -> bool:
    return getattr(field.annotation, "__origin__", None) is tuple


def _split(value: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in value.split(",") if part.strip())


def _masked(value: Any) -> str:
    """The value as it may be printed: no key, and no password inside an address."""
    if isinstance(value, SecretStr):
        return "(set)"
    if isinstance(value, tuple):
        return ", ".join(cast("tuple[str, ...]", value))
    if isinstance(value, dict):
        return ", ".join(cast("dict[str, object]", value))
    return "" if value is None else without_passwords(str(value))
