"""The two routes that are not JSON in and JSON out: a dataset as a stream, and a document as a body."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import IO, Any, TypeVar

from pydantic import BaseModel, ValidationError
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from core.access import AccessScope
from core.config import Config
from core.export.export import ExportRequest, export
from core.export.formats import FORMATS, disposition, file_name
from core.imports.imports import ImportRequest, ImportResponse, import_document
from core.ports import ByteStream
from core.text import clean
from gligabao_mcp.bodies import receive_upload
from gligabao_mcp.callers import caller_of
from gligabao_mcp.errors import failure, invalid
from gligabao_mcp.handle import CoreHandle
from gligabao_mcp.hanging_up import unless_gone
from gligabao_mcp.rest import answer, query_fields

Asked = TypeVar("Asked", bound=BaseModel)

EXPORT_PATH, IMPORT_PATH = "/v1/gb/export", "/v1/gb/import"


def transfer_routes(handle: CoreHandle, config: Config) -> list[Route]:
    """GET export and POST import."""

    async def exporting(request: Request) -> Response:
        try:
            asked = _asked(ExportRequest, request, "read")
            stream = await export(await handle.core(), asked)
        except Exception as error:
            return answer(failure(error), request.scope)
        download = disposition(file_name(asked.dataset, asked.format))
        return Download(stream, FORMATS[asked.format].media_type, {"Content-Disposition": download})

    async def importing(request: Request) -> Response:
        try:
            asked = _asked(ImportRequest, request, "write")
            file = (await receive_upload(request, config.max_import_bytes)).file
            return JSONResponse(await unless_gone(request, handle.finish(_import(handle, asked, file))))
        except ClientDisconnect:
            return Response(status_code=400)  # nobody reads it
        except Exception as error:
            return answer(failure(error), request.scope)

    return [
        Route(EXPORT_PATH, exporting, methods=["GET"], name="export"),
        Route(IMPORT_PATH, importing, methods=["POST"], name="import"),
    ]


class Download(StreamingResponse):
    """A stream that is closed however its sending ends. One that fails in the middle breaks the connection off: what
    has arrived does not look like the whole."""

    def __init__(self, stream: ByteStream, media_type: str, headers: Mapping[str, str]) -> None:
        super().__init__(_unmistakable(stream), headers=headers)
        self.headers["Content-Type"] = media_type
        self._stream = stream

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        except ClientDisconnect:
            pass  # a reader that has read enough
        finally:
            await self._stream.aclose()


async def _unmistakable(stream: ByteStream) -> AsyncIterator[bytes]:
    """The stream; what fails in it is no OSError, which the framework takes for a client that has gone."""
    try:
        async for piece in stream:
            yield piece
    except OSError as failure:
        raise RuntimeError("the export broke off") from failure


async def _import(handle: CoreHandle, asked: ImportRequest, file: IO[bytes]) -> dict[str, Any]:
    """The response body of an import."""
    with file:
        return (await import_document(await handle.core(), asked, file)).body()


def _asked(model: type[Asked], request: Request, scope: AccessScope) -> Asked:
    """The request in the query string, if its caller may send it. Raises InvalidRequest and Forbidden."""
    fields, caller = query_fields(request), caller_of(request)
    if caller is None:
        return read_request(model, fields)
    caller.needs(scope)
    asked = read_request(model, caller.signed(fields))
    caller.owns(asked)
    return asked


def read_request(model: type[Asked], given: Mapping[str, object]) -> Asked:
    """The request in these fields; what is empty counts as not given. Raises InvalidRequest."""
    cleaned, _ = clean({name: value for name, value in given.items() if value not in (None, "")})
    try:
        return model.model_validate(cleaned)
    except ValidationError as error:
        raise invalid(error, model) from None


# What OpenAPI says of them ------------------------------------------------------------------------------------------


MODELS = ((ExportRequest, "validation"), (ImportRequest, "validation"), (ImportResponse, "serialization"))
_BINARY = {"schema": {"type": "string", "format": "binary"}}
_OBJECT = {"schema": {"type": "object"}}
_ONE_OBJECT = ("application/json", "application/ld+json")


def described(parameters: Any, failures: Mapping[str, Any], answers: Any, security: Any) -> dict[str, Any]:
    """The two paths. `parameters` and `answers` make the query parameters and the JSON answer of a model, `security`
    what a scope asks for."""
    kinds = dict.fromkeys(format.media_type for format in FORMATS.values())
    content = {kind: _OBJECT if kind in _ONE_OBJECT else _BINARY for kind in kinds}
    got = {"description": "The document.", "content": content}
    document = {"application/json": _OBJECT, "application/x-ndjson": _BINARY}
    return {
        EXPORT_PATH: {
            "get": {
                "operationId": "export",
                "summary": _summary(export),
                "security": security("read"),
                "parameters": parameters(ExportRequest),
                "responses": {"200": got, **failures},
            }
        },
        IMPORT_PATH: {
            "post": {
                "operationId": "import",
                "summary": _summary(import_document),
                "security": security("write"),
                "parameters": parameters(ImportRequest),
                "requestBody": {"required": True, "description": "What export wrote.", "content": document},
                "responses": {"200": {"description": "Done.", "content": answers(ImportResponse.__name__)}, **failures},
            }
        },
    }


def _summary(function: Any) -> str:
    return " ".join((function.__doc__ or "").split("\n\n")[0].split())
