"""What a server gives to each question, and to all of them together."""

from __future__ import annotations

import os
from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Whatever is above is refused in one sentence; others are answered meanwhile."""

    seconds: float = 60.0  # that a question may take
    workers: int = max(2, os.cpu_count() or 2)  # processes for short questions, and as many for
    # long ones, so that these never stand in the way of those
    waiting: int = 100  # questions at once, those that are answered included
    patience: float = 1.0  # seconds: what takes longer is a long question
    body: int = 1_000_000  # bytes
    body_seconds: float = 10.0  # that a client has to send them
    head_seconds: float = 10.0  # and what comes before them
    answer: int = 20_000_000  # bytes
    memory: int = 4 * 2**30  # bytes of address space of a worker
    answers: int = 500  # of a worker, before another takes its place
