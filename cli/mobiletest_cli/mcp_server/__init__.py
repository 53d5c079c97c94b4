"""The MCP server: what the command can do, as tools for coding agents."""
