"""Stands in for langchain-core where it is not installed: names and members as its documentation has them, and no more."""
