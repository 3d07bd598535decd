"""The file that describes identity providers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from server.identity_providers import NewAccounts, Passwords, ProviderError, SignOn, Verified, read_sign_on

DOCS = Path(__file__).parents[3] / "docs/operators.md"
GOOD = """
[[provider]]
name = "university"
title = "Example University"
issuer = "https://sso.university.example"
client_id = "tilelab"
client_secret = "secret"
"""


def read(folder: Path, text: str) -> SignOn:
    file = folder / "sign-on.toml"
    file.write_text(text)
    return read_sign_on(file)


def test_the_example_of_the_docs_is_valid(tmp_path: Path) -> None:
    (text,) = re.findall(r"```toml\n(passwords.*?)```", DOCS.read_text(), re.DOTALL)
    secret = tmp_path / "secret"
    secret.write_text("hidden\n")

    found = read(tmp_path, text.replace("/run/secrets/sign_on_secret", str(secret)))

    (provider,) = found.providers
    assert found.passwords is Passwords.EVERYONE
    assert (provider.client_secret, provider.verified, provider.new_accounts) == (
        "hidden", Verified.CLAIM, NewAccounts.ANYONE,
    )  # fmt: skip
    assert "hidden" not in repr(found)


def test_a_provider_vouches_for_its_own_emails(tmp_path: Path) -> None:
    always = read(tmp_path, GOOD + 'domains = ["university.edu"]\nverified = "always"').providers[0]
    assert always.vouches_for("ada@university.edu", claimed=False)
    assert not always.vouches_for("ada@sub.university.edu", claimed=True)
    assert not always.vouches_for("ada@university.edu@evil.example", claimed=True)
    assert not read(tmp_path, GOOD).providers[0].vouches_for("ada@university.edu", claimed=False)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", "provider"),
        ("provider = 1", "provider"),
        ("[[provider", "sign-on.toml"),
        (GOOD + GOOD, "same name"),
        (GOOD.replace('"university"', '"../x"'), "name"),
        (GOOD.replace("https", "http"), "issuer"),
        (GOOD.replace("client_id", "client"), "client"),
        (GOOD + 'client_secret_file = "/x"', "client_secret"),
        (GOOD.replace('client_secret = "secret"', 'client_secret_file = "/nonexistent"'), "/nonexistent"),
        (GOOD + 'verified = "always"', "domains"),
        (GOOD + 'verified = "maybe"', "verified"),
        (GOOD + 'domains = ["University.edu"]', "domains"),
        ('passwords = "none"' + GOOD, "passwords"),
    ],
)
def test_a_mistake_is_named(tmp_path: Path, text: str, named: str) -> None:
    with pytest.raises(ProviderError, match=named):
        read(tmp_path, text)
