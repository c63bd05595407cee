"""Profiles to privacy loss distributions to their sums: many rounds."""
