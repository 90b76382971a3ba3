"""Where states are, whether they are whole, and what becomes of one that could not be saved."""
