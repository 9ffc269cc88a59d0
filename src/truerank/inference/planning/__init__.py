"""Errors predicted before anything is scored: plans, frontiers, what a sample resolves."""
