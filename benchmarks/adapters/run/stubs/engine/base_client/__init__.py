class IncompatibilityError(Exception):
    """An engine cannot run an experiment, which is left out then."""
