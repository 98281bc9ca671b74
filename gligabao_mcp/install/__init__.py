"""gligabao install: writes this server into the configuration of an MCP client, and takes it out again."""
