"""What is kept of a run, while it lives and after."""
