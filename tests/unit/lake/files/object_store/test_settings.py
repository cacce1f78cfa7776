"""Settings of the connection to a store, which contain no secret."""

import pickle
from pathlib import Path

import pytest
from obstore.store import AzureStore, GCSStore

from braid.lake.errors import InvalidRequest
from braid.lake.files.object_store.address import Service, parse_object_address
from braid.lake.files.object_store.settings import StoreSettings
from braid.lake.files.object_store.store import ObjectStoreFileIO

SECRET = "s3cr3t-value"


def test_without_settings_the_provider_is_reached_over_tls() -> None:
    assert StoreSettings.from_environment(Service.S3, {}) == StoreSettings()


def test_settings_of_braid_precede_those_of_s3_tools() -> None:
    environment = {
        "AWS_ENDPOINT_URL": "https://theirs",
        "AWS_REGION": "eu-west-1",
        "BRAID_STORE_ENDPOINT": "https://ours",
        "BRAID_STORE_PATH_STYLE": "false",
    }

    settings = StoreSettings.from_environment(Service.S3, environment)

    assert settings == StoreSettings(endpoint="https://ours", region="eu-west-1", path_style=False)


def test_settings_of_s3_do_not_reach_other_services() -> None:
    environment = {"AWS_ENDPOINT_URL": "https://theirs", "AWS_REGION": "eu-west-1"}

    assert StoreSettings.from_environment(Service.GCS, environment) == StoreSettings()


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("BRAID_STORE_ENDPOINT", "host:9000", "expected a URL"),
        ("BRAID_STORE_ENDPOINT", "http://host:9000", "without TLS"),
        ("BRAID_STORE_ALLOW_HTTP", "maybe", "true or false"),
        ("BRAID_STORE_CREDENTIALS", "secrets/file", "must be absolute"),
    ],
)
def test_a_setting_that_cannot_work_is_refused_by_name(name: str, value: str, said: str) -> None:
    with pytest.raises(InvalidRequest, match=said) as caught:
        StoreSettings.from_environment(Service.S3, {name: value})

    assert [problem.field for problem in caught.value.problems] == [name]


@pytest.mark.parametrize("scheme", ["https://", "http://", "", "s3://"])
def test_a_login_in_an_endpoint_is_refused_and_not_repeated(scheme: str) -> None:
    environment = {"BRAID_STORE_ENDPOINT": f"{scheme}key:{SECRET}@host:9000"}

    with pytest.raises(InvalidRequest, match="BRAID_STORE_CREDENTIALS") as caught:
        StoreSettings.from_environment(Service.S3, environment)

    assert SECRET not in str(caught.value)


def test_pickled_settings_contain_no_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "credentials"
    file.write_text(f"# of a test\n\nAWS_ACCESS_KEY_ID=key\nAWS_SECRET_ACCESS_KEY={SECRET}\n")
    monkeypatch.setenv("AWS_SESSION_TOKEN", SECRET)
    settings = StoreSettings.from_environment(
        Service.S3, {"BRAID_STORE_CREDENTIALS": str(file), "AWS_SECRET_ACCESS_KEY": SECRET}
    )
    store = settings.open(parse_object_address("s3://bucket/w"))
    file_io = ObjectStoreFileIO(settings)

    taken_along = pickle.dumps(file_io)

    assert SECRET.encode() not in taken_along
    assert SECRET not in repr((settings, store, file_io, vars(file_io)))
    assert vars(pickle.loads(taken_along))["_settings"] == settings


@pytest.mark.parametrize(
    "content", ["a line", "AWS_SECRET_ACCESS_KEY", f"NO_SUCH_NAME={SECRET}", f"{SECRET}=x"]
)
def test_an_invalid_credentials_file_is_refused_and_not_repeated(
    tmp_path: Path, content: str
) -> None:
    file = tmp_path / "credentials"
    file.write_text(content)

    with pytest.raises(InvalidRequest) as caught:
        StoreSettings(credentials_file=str(file)).open(parse_object_address("s3://bucket/w"))

    assert SECRET not in str(caught.value)


def test_an_unknown_name_is_reported_by_its_line_and_not_repeated(tmp_path: Path) -> None:
    """A secret often ends in `=`, so the text before a `=` may be a secret."""
    file = tmp_path / "credentials"
    file.write_text(f"# mine\nAWS_ACCESS_KEY_ID=a\n{SECRET}=\n")

    with pytest.raises(InvalidRequest, match="line 3 has a name that is not a setting") as caught:
        StoreSettings(credentials_file=str(file)).open(parse_object_address("s3://bucket/w"))

    assert SECRET.lower() not in str(caught.value).lower()
    assert caught.value.problems[0].value == str(file)


def test_an_absent_credentials_file_is_named(tmp_path: Path) -> None:
    settings = StoreSettings(credentials_file=f"{tmp_path}/absent")

    with pytest.raises(InvalidRequest, match="absent"):
        settings.open(parse_object_address("s3://bucket/w"))


@pytest.mark.parametrize(
    ("uri", "store"),
    [
        ("gs://bucket/w", GCSStore),
        ("az://box/w", AzureStore),
        ("abfss://box@account.dfs.core.windows.net/w", AzureStore),
    ],
)
def test_stores_of_other_services_open(
    uri: str, store: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", "account")
    monkeypatch.setenv("AZURE_SKIP_SIGNATURE", "true")
    monkeypatch.setenv("GOOGLE_SKIP_SIGNATURE", "true")

    assert isinstance(StoreSettings().open(parse_object_address(uri)), store)
