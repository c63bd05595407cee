"""Commands of everyday use; each is one module and loads what it needs when it runs."""

from .account import account
from .calibrate import calibrate
from .compare import compare
from .plot import plot
from .sweep import sweep

COMMANDS = (calibrate, account, compare, sweep, plot)
