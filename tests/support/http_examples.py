"""Examples of guides that are requests and answers: `http` blocks, each followed by a `json` block with what is shown of the answer."""

import json
import re
from collections.abc import Mapping
from typing import Any

from tests.unit.service.http_client import HttpClient


def check_http_examples(page: str, client: HttpClient, values: Mapping[str, str]) -> None:
    """Send the requests of a page in their order, and check that each answer has what the page shows.

    Args:
        page: Text of the page.
        client: The service.
        values: What stands for texts in headers that the page cannot know, such as `<etag>`.
    """
    examples = re.findall(r"```http\n(.*?)```\n\n(?:[^`]*?)```json\n(.*?)```", page, re.DOTALL)
    assert len(examples) == page.count("```http") == page.count("```json")
    for request, shown in examples:
        head, _, body = request.partition("\n\n")
        line, *headers = head.splitlines()
        method, path = line.split(" ")
        sent = dict(header.split(": ") for header in headers)
        sent = {name: values.get(value, value) for name, value in sent.items()}
        answer = client.request(method, path, headers=sent, content=body)
        assert shows(json.loads(shown), answer.json()), answer.json()


def shows(shown: Any, answer: Any) -> bool:
    """Return whether an answer has what is shown of it: of objects some fields, of lists all entries."""
    if isinstance(shown, dict):
        return all(name in answer and shows(value, answer[name]) for name, value in shown.items())
    if isinstance(shown, list):
        return len(shown) == len(answer) and all(map(shows, shown, answer))
    return bool(shown == answer)
