"""What a failure means: its class, its sentence, its hints."""
