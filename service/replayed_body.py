"""Body of a request that a layer has read, given to the next layer again."""

from starlette.types import Message, Receive


def replayed(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that returns the body once, and then the server's messages."""
    is_given = False

    async def replay() -> Message:
        nonlocal is_given
        if is_given:
            return await receive()
        is_given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay
