"""Stands in for the packages of this name in two harnesses: vector-db-benchmark has ``dataset``, big-ann-benchmarks has ``datasets``."""
