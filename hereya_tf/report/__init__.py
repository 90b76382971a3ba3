"""What is told of a run when it is over, or about to be: one value, and a form for each reader."""
