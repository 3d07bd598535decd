"""What a browser calls itself, in words that its owner knows it by."""

from __future__ import annotations

_BROWSERS = (
    ("Edg/", "Edge"), ("OPR/", "Opera"), ("SamsungBrowser/", "Samsung Internet"), ("Firefox/", "Firefox"),
    ("FxiOS/", "Firefox"), ("CriOS/", "Chrome"), ("Chrome/", "Chrome"), ("Safari/", "Safari"),
)  # fmt: skip
_SYSTEMS = (
    ("iPhone", "iPhone"), ("iPad", "iPad"), ("Android", "Android"), ("CrOS", "ChromeOS"), ("Windows", "Windows"),
    ("Mac OS X", "macOS"), ("Linux", "Linux"),
)  # fmt: skip
_LONGEST = 60


def described(user_agent: str) -> str:
    """Such as "Firefox on Windows"; what is known of neither is shown as it is, cut short."""
    browser = next((name for mark, name in _BROWSERS if mark in user_agent), "")
    system = next((name for mark, name in _SYSTEMS if mark in user_agent), "")
    if browser and system:
        return f"{browser} on {system}"
    return browser or system or user_agent[:_LONGEST] or "A browser that does not say which"
