"""Replaces langchain-core if it is not installed: only names and members from its documentation."""
