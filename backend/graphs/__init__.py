"""Explainers of graph neural networks: which part of a graph decides, at several scales."""
