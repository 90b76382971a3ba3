"""What a user gives a run, read and checked."""
