"""Oxmill: a durable job queue for Python that runs on the store you already have."""
