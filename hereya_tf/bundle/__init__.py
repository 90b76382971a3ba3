"""A plan bundle: the engine's plan, its lock file, and what it was made for."""
