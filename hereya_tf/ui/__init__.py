"""Front ends: they know events only."""
