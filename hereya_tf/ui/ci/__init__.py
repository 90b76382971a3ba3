"""What CI systems make of a log: parts that fold, and lines that are commands."""
