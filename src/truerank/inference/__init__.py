"""From estimates to how far they may be off: simulation of the sampling itself."""
