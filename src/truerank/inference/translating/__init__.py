"""Global metrics from published sampled ones: estimates, and what they permit."""
