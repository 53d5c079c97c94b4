"""A search finds the same names as the catalog's."""

from hypothesis import given
from hypothesis import strategies as st

from services.catalog.model import text as catalog
from services.reporting.model import text_search
from tests.fakes.reporting_attempts import NO_DEADLINE


@NO_DEADLINE
@given(st.text(max_size=40).map(lambda text: text * 18))
def test_text_is_searched_as_in_the_catalog(searched: str) -> None:
    assert text_search.fold_case(searched) == catalog.fold_case(searched)
    assert text_search.search_pattern(searched) == catalog.search_pattern(searched)
    assert text_search.NEEDLE_LIMIT == catalog.NEEDLE_LIMIT
