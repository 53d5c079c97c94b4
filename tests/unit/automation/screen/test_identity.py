from dataclasses import replace

from mobiletest_automation.screen.elements import Bounds, Element, Role
from mobiletest_automation.screen.identity import as_bound, find_same, from_bound, identity_of, is_same
from mobiletest_automation.screen.outline import Outline


def element(role: Role, text: str = "", *children: Element, id: str = "") -> Element:
    return Element(role=role, text=text, id=id, bounds=Bounds(0, 0, 10, 10), children=children)


def outline(*children: Element) -> Outline:
    return Outline(element(Role.SCREEN, "", *children))


PAY = element(Role.BUTTON, "Pay 12 €", id="shop:id/pay")
BACK = element(Role.BUTTON, "Back")
SHOP = outline(element(Role.OTHER, "", PAY, BACK, id="footer"))


def test_an_identity_has_what_names_an_element_and_where_it_is() -> None:
    identity = identity_of(PAY, SHOP, "text")
    assert (identity.id, identity.words, identity.path) == ("pay", "pay", "other[0]/button[0]")
    assert (identity.ancestors, identity.found_by, identity.role) == (("footer",), "text", Role.BUTTON)


def test_an_element_is_found_by_its_id_whatever_its_text() -> None:
    renamed = element(Role.BUTTON, "Buy now", id="other:id/pay")
    assert find_same(identity_of(PAY, SHOP), outline(BACK, renamed)) is renamed


def test_an_element_whose_id_is_gone_is_not_guessed() -> None:
    assert find_same(identity_of(PAY, SHOP), outline(BACK, element(Role.BUTTON, "Pay 12 €", id="cancel"))) is None


def test_an_element_without_an_id_is_found_by_its_words_and_role() -> None:
    back = element(Role.BUTTON, "Back")
    assert find_same(identity_of(BACK, SHOP), outline(element(Role.TEXT, "Back"), back)) is back


def test_of_equal_elements_none_is_chosen() -> None:
    assert (
        find_same(identity_of(BACK, SHOP), outline(element(Role.BUTTON, "Back"), element(Role.BUTTON, "Back"))) is None
    )


def test_of_rows_with_one_id_the_one_with_its_text_is_found() -> None:
    rows = [element(Role.TEXT, name, id="title") for name in ("Anna", "Ben 2", "Ben 3")]
    screen = outline(*rows)
    assert [find_same(identity_of(each, screen), outline(*reversed(rows))) for each in rows] == rows


def test_elements_with_ids_are_the_same_by_them_and_others_by_role_and_words() -> None:
    pay, back = identity_of(PAY, SHOP), identity_of(BACK, SHOP)
    assert is_same(pay, replace(pay, text="Buy", path="", ancestors=()))
    assert not is_same(pay, replace(pay, id="cancel"))
    assert is_same(back, replace(back, text="Back 2"))
    assert not is_same(back, replace(back, text="Next"))
    assert not is_same(back, replace(back, role=Role.LINK))
    assert not is_same(back, replace(back, ancestors=("header",)))
    nameless = replace(back, text="")
    assert is_same(nameless, nameless)
    assert not is_same(nameless, replace(nameless, path="button[7]"))


def test_what_a_password_field_holds_is_not_part_of_its_identity() -> None:
    secret = Element(role=Role.FIELD, label="Password", text="hunter2", secret=True, bounds=Bounds(0, 0, 1, 1))
    assert "hunter2" not in repr(identity_of(secret, outline(secret)))


def test_an_identity_is_described_by_role_name_and_id() -> None:
    field = Element(role=Role.FIELD, label="Name", text="Ada", bounds=Bounds(0, 0, 1, 1))
    described = [identity_of(each, outline(each)).describe() for each in (PAY, BACK, field, element(Role.OTHER))]
    assert described == ['button "Pay 12 €" (id pay)', 'button "Back"', 'field "Name"', "other"]


def test_an_identity_that_a_step_has_reported_is_the_same() -> None:
    identity = identity_of(PAY, SHOP, "text")
    reported = from_bound(as_bound(identity, SHOP.root.bounds))
    assert replace(reported, bounds=identity.bounds) == identity
