"""What a crash has left of a state, and which repairs are safe."""
