"""The MCP door: tools, resources, prompts and completion over one core, for clients of both protocol eras."""
