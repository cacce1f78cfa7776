"""Parameter `confirm`, in which a client repeats a name to confirm a request: its description, and the error if it is wrong.

Dropping a table, and changing or deleting a consumer, need this confirmation; the deletion of a stream takes it. `routes/tables`,
`routes/streams` and `control/consumers` compare the name.
"""

from braid.lake import InvalidRequest, Problem

DESCRIPTION = "The name once more, so that a request to a wrong address changes nothing."


def not_confirmed(name: str, why: str) -> InvalidRequest:
    """Return the error of a request without `?confirm=<name>`, or with another name.

    Args:
        name: The name that has to be repeated.
        why: The harm that a mistaken request would do.
    """
    problem = Problem(field="confirm", value=None, message=why, hint=f"add `?confirm={name}`")
    text = f"the request for {name} is not confirmed"
    return InvalidRequest(text, problems=[problem])
