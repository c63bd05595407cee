"""Numeric types, validation, files and tables."""
