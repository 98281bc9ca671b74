"""python -m gligabao_mcp: the command line."""

from gligabao_mcp.cli import main

if __name__ == "__main__":
    main()
