import pickle

from tests.unit.lake.format.given_files import FILE, PLAIN_FILE


def test_a_file_is_a_value() -> None:
    assert pickle.loads(pickle.dumps(FILE)) == FILE
    assert len({FILE, FILE, PLAIN_FILE}) == 2
