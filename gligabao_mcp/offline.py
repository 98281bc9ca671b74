"""What of a configuration would lead out of this machine: with `offline` none of it may."""

from __future__ import annotations

from typing import NoReturn
from urllib.parse import parse_qs, urlsplit

from pydantic import SecretStr

from core.config import Config
from core.errors import InvalidRequest
from gligabao_mcp.addresses import host_of, is_loopback

_ADDRESSES = ("anthropic_base_url", "openai_base_url", "llm_base_url", "embedding_base_url", "event_webhook_url")


def keep_inside(config: Config) -> Config:
    """The configuration as it holds without a network: a key that happens to be set is not used, and nobody is chosen
    by it. Raises InvalidRequest for the first setting that asks for another machine."""
    if not config.offline:
        return config
    for name in _ADDRESSES:
        if (url := _text(getattr(config, name))) and not is_loopback(host_of(url)):
            _refuse(name)
    if _leads_to_a_service(config.llm, config.anthropic_base_url, config.llm_base_url or config.openai_base_url):
        _refuse("llm")
    embeds_here = config.embedding_base_url or config.openai_base_url
    if _leads_to_a_service(config.embedder, "", embeds_here):
        _refuse("embedder")
    if config.db and not _is_here(config.db):
        _refuse("db")
    if config.vectors and "://" in config.vectors and not config.vectors.startswith("file://"):
        _refuse("vectors")
    return config.model_copy(update=_without_services(config, bool(embeds_here)))


def _text(value: str | SecretStr | None) -> str:
    return (value.get_secret_value() if isinstance(value, SecretStr) else value) or ""


def _leads_to_a_service(chosen: str, anthropic: str, openai: str) -> bool:
    return (chosen == "anthropic" and not anthropic) or (chosen == "openai" and not openai)


def _is_here(db: str) -> bool:
    """Whether a database is a file, or a server on this machine."""
    if "://" not in db or db.startswith("sqlite:"):
        return True
    stated = parse_qs(urlsplit(db).query)  # what stands there wins over the host of the address
    hosts = [host for name in ("host", "hostaddr") for value in stated.get(name, []) for host in value.split(",")]
    return all(not host or host.startswith("/") or is_loopback(host) for host in (host_of(db), *hosts))


def _without_services(config: Config, embeds_here: bool) -> dict[str, object]:
    changed: dict[str, object] = {"jev_api_key": None}
    if config.llm == "auto" and not config.anthropic_base_url:
        changed["llm"] = "none"
    if config.embedder == "auto" and not embeds_here:
        changed["embedder"] = "local" if config.llm == "local" else "none"
    return changed


def _refuse(name: str) -> NoReturn:
    raise InvalidRequest(f"{name}: leads to another machine, and offline is set", param=name)
