"""The command line, one command a file."""

from .app import main

__all__ = ["main"]
