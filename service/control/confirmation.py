"""Confirmation by name of requests that harm others when made by mistake."""

from lake import InvalidRequest, Problem

DESCRIPTION = "The name once more, so that a mistaken address changes nothing."


def not_confirmed(name: str, why: str) -> InvalidRequest:
    """Return the error of a request that does not say `?confirm=<name>`."""
    problem = Problem(field="confirm", value=None, message=why, hint=f"add `?confirm={name}`")
    text = f"{name} was not asked for by name"
    return InvalidRequest(text, problems=[problem])
