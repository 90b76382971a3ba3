"""What a run tells and leaves behind, while it lives and after."""
