"""What an engine says, from bytes to messages, sums and events."""
