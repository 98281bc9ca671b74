"""The change of a configuration: the entry of one server put in, brought up to date or taken out, and nothing else."""

from __future__ import annotations

from typing import cast

from gligabao_mcp.install.entries import Entry, merged
from gligabao_mcp.install.texts import Format, Keys, found


def installed(form: Format, text: str, path: Keys, new: Entry) -> str:
    """The text with the entry at the path. Of an entry that is there, what the user added stays, comments included;
    where nothing differs, the text is the same. Raises Unreadable for a text that can't be changed in place."""
    old = found(form.read(text), path)
    if not isinstance(old, dict):
        return form.put(text, path, new)
    return _brought(form, text, path, cast("Entry", old), merged(cast("Entry", old), new))


def _brought(form: Format, text: str, path: Keys, old: Entry, new: Entry) -> str:
    for key in old.keys() - new.keys():
        text = form.drop(text, (*path, key))
    for key, value in new.items():
        before = old.get(key)
        if isinstance(before, dict) and isinstance(value, dict):
            text = _brought(form, text, (*path, key), cast("Entry", before), cast("Entry", value))
        elif key not in old or before != value:
            text = form.put(text, (*path, key), value)
    return text


def removed(form: Format, text: str, path: Keys) -> str:
    """The text without the entry; the same where there is none."""
    form.read(text)
    return form.drop(text, path)
