"""Network addresses, as rate limits count them."""

from __future__ import annotations

from ipaddress import IPv6Address, ip_address


def network_of(address: str) -> str:
    """The network that an address's owner controls: an IPv4 address itself, the first half of an IPv6 address."""
    try:
        found = ip_address(address)
    except ValueError:
        return address
    if isinstance(found, IPv6Address) and found.ipv4_mapped is None:
        return found.exploded[:19]
    return str(getattr(found, "ipv4_mapped", None) or found)
