"""Rules for new passwords."""

from __future__ import annotations

from server.accounts.service import LONGEST_PASSWORD, SHORTEST_PASSWORD

_FEWEST_DIFFERENT = 4
_ROWS = "0123456789012345 abcdefghijklmnopqrstuvwxyz qwertyuiopasdfghjklzxcvbnm"
_USUAL = """
password password1 password12 password123 passw0rd iloveyou sunshine princess football baseball superman trustno1
qwerty123 qwertyui qwertz123 letmein1 welcome1 welcome123 starwars whatever computer changeme administrator
tilelab1 tilelab123 student1 student123 1q2w3e4r 1qaz2wsx q1w2e3r4 abcd1234 a1b2c3d4 matrixmul
"""
_EASY = frozenset(_USUAL.split())


def mistake_in(password: str, email: str, name: str) -> str:
    """What a new password lacks, as a sentence; "" if it is fine."""
    if not SHORTEST_PASSWORD <= len(password) <= LONGEST_PASSWORD:
        return f"Use at least {SHORTEST_PASSWORD} characters. A short phrase is easy to remember."
    plain = password.casefold().strip()
    own = {email.casefold().strip(), email.partition("@")[0].casefold(), name.casefold().strip()}
    in_a_row = plain in _ROWS or plain in _ROWS[::-1]
    if plain in own | _EASY or in_a_row or len(set(plain)) < _FEWEST_DIFFERENT:
        return "This password is too easy to guess. Choose another."
    return ""
