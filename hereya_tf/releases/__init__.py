"""What the vendors of engines publish, and how it gets here safely."""
