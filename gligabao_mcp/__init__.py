"""gligabao-mcp: the memory that an AI agent can show the work of."""

__version__ = "0.1.0"
