"""Small classifiers and pictures that the tests of the Images family share."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="session")
def cnn():
    """A random convolutional network of five classes."""
    from tests.backend.images import made

    return made.cnn()


@pytest.fixture(scope="session")
def vit():
    """A random vision transformer of five classes."""
    from tests.backend.images import made

    return made.vit()


@pytest.fixture(scope="session")
def flat():
    """A random linear classifier of pixels."""
    from tests.backend.images import made

    return made.flat()


@pytest.fixture(scope="session")
def looking():
    """A classifier that looks at one square."""
    from tests.backend.images import made

    return made.looking()


@pytest.fixture(scope="session")
def photos():
    """Three random pictures."""
    from tests.backend.images import made

    return made.photos()


@pytest.fixture(scope="session")
def bright():
    """A picture that is white where `looking` looks, with the mask of that square."""
    from tests.backend.images import made

    return made.bright()


@pytest.fixture(scope="session")
def parts_cnn():
    """The convolutional network of the pictures of parts, trained on few."""
    from tests.backend.images import made

    return made.parts_cnn()
