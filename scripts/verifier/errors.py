"""The one way in which a key or a proof fails."""


class Invalid(Exception):
    """A key or a proof that is not valid; the text says why."""


def require(condition, why):
    """Raises Invalid with the text why unless condition holds."""
    if not condition:
        raise Invalid(why)
