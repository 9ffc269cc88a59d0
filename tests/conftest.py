"""Settings that every test shares: examples are the same in every run, and may take their time."""

from hypothesis import settings

settings.register_profile("truerank", derandomize=True, deadline=None)
settings.load_profile("truerank")
