"""Commands of everyday use; each is one module and loads what it needs when it runs."""

from .account import account
from .calibrate import calibrate
from .plot import plot
from .sweep import sweep

COMMANDS = (calibrate, account, sweep, plot)
