"""Laws of the outputs of randomizers: what one message tells, before any users or rounds."""
