"""A provider's server, for the tests of the providers."""

from collections.abc import Iterator

import pytest

from tests.wire import Wire


@pytest.fixture(scope="session")
def server() -> Iterator[Wire]:
    with Wire() as wire:
        yield wire


@pytest.fixture
def wire(server: Wire) -> Wire:
    """A server that says what the test tells it to."""
    server.forget()
    return server
