"""Tools for assistants by the Model Context Protocol: `way mcp`."""
