"""Dynamic registration: a platform describes itself, and takes a description of us."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit
from urllib.request import Request

from server.lti.launch import CHOOSE_PATH, DEEP_LINKING, LAUNCH_PATH, LONGEST_NAME, MEMBERS_SCOPE, SCORE_SCOPE
from server.lti.platforms import PlatformSettings
from server.sign_on.fetch import ProviderFault, checked, exchange, json_object
from server.sign_on.openid import one_line

_TOOL = "https://purl.imsglobal.org/spec/lti-tool-configuration"
_PLATFORM = "https://purl.imsglobal.org/spec/lti-platform-configuration"


def described(address: str, trusted: str) -> tuple[PlatformSettings, str]:
    """What a platform says about itself at an address that an operator confirmed, and where to register.

    Raises ProviderFault. The client ID isn't known yet.

    trusted: an issuer on another host for which it may speak; "" for none
    """
    parts = urlsplit(checked(address))
    said = json_object(parts.netloc, exchange(Request(address), {parts.netloc})[1])  # noqa: S310 - checked
    issuer = one_line(said.get("issuer"), LONGEST_NAME)
    if urlsplit(issuer).hostname != parts.hostname and (not issuer or issuer != trusted):
        raise ProviderFault(f"{parts.hostname} speaks for the issuer {issuer or 'without a name'}")
    named = [checked(said.get(name)) for name in ("authorization_endpoint", "token_endpoint", "jwks_uri")]
    plain = [each for each in named if not each.startswith("https:") and urlsplit(each).netloc != parts.netloc]
    if plain:
        raise ProviderFault(f"the address {plain[0]!r} isn't encrypted")
    about = said.get(_PLATFORM)
    family = one_line(about.get("product_family_code"), 60) if isinstance(about, dict) else ""
    return PlatformSettings(
        title=f"{family.capitalize()} ({parts.hostname})"[:100] if family else f"{parts.hostname}"[:100],
        issuer=issuer,
        authorization=named[0],
        token=named[1],
        keys=named[2],
        audience=one_line(said.get("authorization_server"), 1000),
    ), checked(said.get("registration_endpoint"))


def register(settings: PlatformSettings, configuration: str, endpoint: str, token: str, site: str) -> PlatformSettings:
    """Register us there; returns the settings with our client ID. Raises ProviderFault.

    configuration: the address that the operator confirmed; token: "" for none
    """
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    request = Request(checked(endpoint), json.dumps(about_us(site)).encode(), headers)  # noqa: S310 - checked
    host = urlsplit(configuration).netloc
    given = json_object(host, exchange(request, {host})[1])
    ours = given.get(_TOOL)
    deployment = one_line(ours.get("deployment_id"), LONGEST_NAME) if isinstance(ours, dict) else ""
    client = one_line(given.get("client_id"), LONGEST_NAME)
    if not client:
        raise ProviderFault(f"{host} gives no client ID")
    return replace(settings, client_id=client, deployments=deployment)


def about_us(site: str) -> Mapping[str, Any]:
    """What a platform needs to know. site: our own address."""
    return {
        "application_type": "web",
        "client_name": "Tilelab",
        "client_uri": site,
        "response_types": ["id_token"],
        "grant_types": ["implicit", "client_credentials"],
        "initiate_login_uri": f"{site}/lti/login",
        "redirect_uris": [f"{site}{LAUNCH_PATH}"],
        "jwks_uri": f"{site}/lti/keys",
        "token_endpoint_auth_method": "private_key_jwt",
        "scope": f"{SCORE_SCOPE} {MEMBERS_SCOPE}",
        _TOOL: {
            "domain": urlsplit(site).netloc,
            "description": "Grades CUDA kernels",
            "target_link_uri": f"{site}{LAUNCH_PATH}",
            "claims": ["iss", "sub", "name", "given_name", "family_name", "email"],
            "messages": [
                {"type": "LtiResourceLinkRequest"},
                {"type": DEEP_LINKING, "target_link_uri": f"{site}{CHOOSE_PATH}", "label": "Tilelab assignment"},
            ],
        },
    }
