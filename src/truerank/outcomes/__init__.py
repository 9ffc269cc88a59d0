"""The waist: outcomes of sampled evaluations with their weights, and how they are read and kept."""
