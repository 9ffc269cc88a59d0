"""The version, for those who must not import the public face."""

__version__ = "0.2.0"
