"""How far an estimate may be off: the law of its error, and intervals from it."""
