"""Certified E[(S)_+] of sums of scores: the numbers behind every profile."""
