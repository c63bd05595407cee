"""delta as a function of epsilon for one round: a law, its users and how they are sampled."""
