"""The commands of `python -m backend`, one module each."""
