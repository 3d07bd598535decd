"""Network addresses, as limits count them."""

from __future__ import annotations

from ipaddress import IPv6Address, ip_address


def network_of(address: str) -> str:
    """Whoever has an address has all of its network: of IPv6 the first half, of IPv4 the address itself."""
    try:
        found = ip_address(address)
    except ValueError:
        return address
    if isinstance(found, IPv6Address) and found.ipv4_mapped is None:
        return found.exploded[:19]
    return str(getattr(found, "ipv4_mapped", None) or found)
