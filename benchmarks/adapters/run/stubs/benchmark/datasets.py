"""Data sets by name. The runner adds those that it has files of."""

DATASETS = {}
