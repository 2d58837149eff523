"""The root of every error a user can cause or meet."""


class CalibraryError(Exception):
    """One sentence: what must hold, what was found, where, and the remedy."""
