"""Which servers the doctor refuses for their age."""

import pytest

from oxmill.drivers.mysql.doctor import _version


@pytest.mark.parametrize(
    ("version", "refused"),
    [
        ("8.0.1-dmr", True),
        ("8.0.4-rc-log", True),
        ("8.0.11", False),
        ("8.4.0", False),
        ("9.1.0-commercial", False),
        ("5.7.44-log", True),
        ("10.5.29-MariaDB", True),
        ("10.6.0-MariaDB", False),
        ("11.8.2-MariaDB-ubu2404", False),
        ("", True),
    ],
)
def test_a_server_that_is_too_old_is_refused(version, refused):
    """MySQL 8.0.1 has SKIP LOCKED, but no JSON_TABLE; 8.0.11 is the first that is no preview."""
    assert bool([*_version({"version": version})]) is refused
