import pytest


@pytest.fixture(autouse=True)
def small_fits_in_one_thread(one_thread):
    pass
