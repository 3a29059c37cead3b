"""Explainers of reinforcement-learning agents: causal graphs of what they experience and do."""
