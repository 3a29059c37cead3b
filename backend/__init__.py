"""The library behind Vitrine: a request goes in, an explanation comes out."""

__version__ = "0.1.0"
