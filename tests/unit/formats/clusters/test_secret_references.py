"""References in the operators' files, and the secrets that they resolve to."""

import pytest

from braid.formats.clusters.secret_references import resolve_secrets
from braid.lake import InvalidRequest


def test_references_are_replaced_by_what_they_name() -> None:
    resolved = resolve_secrets(
        {"a": "user=${env:NAME};", "b": "${file:/run/secret}", "c": "$plain"},
        owner="the Kafka cluster `main`",
        environment={"NAME": "me"},
        read_file={"/run/secret": "s3cret\n"}.__getitem__,
    )

    assert resolved == {"a": "user=me;", "b": "s3cret", "c": "$plain"}


@pytest.mark.parametrize("reference", ["${env:NOT_SET}", "${file:/not/there}"])
def test_a_reference_to_nothing_is_named(reference: str) -> None:
    with pytest.raises(InvalidRequest, match="a secret of X cannot be read") as caught:
        resolve_secrets({"sasl.jaas.config": reference}, owner="X", environment={})

    (problem,) = caught.value.problems
    assert problem.value == reference
