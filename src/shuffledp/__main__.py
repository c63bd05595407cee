"""`python -m shuffledp` is the command line."""

from .cli.app import main

main()
