"""Explainers of decoder language models."""
