"""What published sampled metrics permit the global ones to be."""
