"""Documents of any size that come with a request."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import IO, Annotated

from pydantic import InstanceOf, PlainSerializer, WithJsonSchema

_PIECE = 256 * 1024


@dataclass(frozen=True, slots=True, eq=False)
class Upload:
    """A document that has arrived as a whole. Whoever received it closes the file."""

    file: IO[bytes]
    sha256: str
    """Of its bytes, in hexadecimal: what tells whether two are the same."""

    async def pieces(self) -> AsyncGenerator[bytes]:
        """Its bytes from the beginning, in pieces."""
        await asyncio.to_thread(self.file.seek, 0)
        while piece := await asyncio.to_thread(self.file.read, _PIECE):
            yield piece


# The field of a request that takes one. Where a request is compared or written down, the digest stands for it.
Document = Annotated[
    InstanceOf[Upload],
    PlainSerializer(lambda upload: upload.sha256, return_type=str),
    WithJsonSchema({"type": "string", "format": "binary"}),
]
