"""What one does with certified numbers: calibrate, plan, sweep, compare, verify, draw."""
