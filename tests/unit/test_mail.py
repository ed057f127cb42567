"""The sample sender: what a letter says, and that each order has one, against a real SMTP server on loopback."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from headrace.errors import EnvironmentFault
from headrace.mail.ledger import Ledger
from headrace.mail.letter import Undeliverable, letter
from headrace.mail.post import Shown, Smtp
from headrace.mail.sender import deliver
from headrace.project.model import Mail
from tests.post_office import Office, open_office

TOPIC = "order-emails"


def value(email: str | None = "ada@example.org", **rest: Any) -> dict[str, Any]:
    """The value of a notice."""
    customer = {"id": 1, "firstName": "Ada", "lastName": "King", "email": email}
    order = {"id": "a", "product": "JUMPERS", "quantity": 2, "price": 9.5, "items": None}
    return {"order": order, "payment": {"id": "p", "amount": "19.00000000", "ccy": "EUR"}, "customer": customer, **rest}


def notice(order_id: str | None, offset: int, body: Any = None) -> dict[str, Any]:
    """A record as it is read from the topic."""
    return {"topic": TOPIC, "partition": 0, "offset": offset, "key": order_id, "value": body or value()}


@pytest.fixture
def office() -> Iterator[Office]:
    with open_office() as found:
        yield found


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "mail" / f"{TOPIC}.sqlite"


def outcomes(notices: list[dict[str, Any]], path: Path, post: Any) -> list[str | None]:
    """Deliver in a process of its own, so to speak: everything is opened, and closed at the end."""
    ledger = Ledger.at(path)
    try:
        return [delivery.outcome for delivery in deliver(notices, ledger, post)]
    finally:
        post.close()
        ledger.close()


def test_letter_shows_what_is_paid(office: Office, path: Path) -> None:
    outcomes([notice("a", 0)], path, office.post)
    (found,) = office.letters
    assert (found["From"], found["To"], found["Subject"]) == (
        "shop@example.org",
        "Ada King <ada@example.org>",
        "Your order a is paid",
    )
    assert found.get_content().splitlines() == [
        *["Dear Ada King,", "", "your order a is paid.", "", "2 x JUMPERS", "Paid: 19 EUR"]
    ]


def test_each_order_has_one_letter(office: Office, path: Path) -> None:
    notices = [notice("a", 0), notice("b", 1), notice("a", 2)]
    assert outcomes(notices, path, office.post) == ["sent", "sent", None]
    assert [found["Subject"] for found in office.letters] == ["Your order a is paid", "Your order b is paid"]


def test_restart_goes_on_behind_the_last(office: Office, path: Path) -> None:
    outcomes([notice("a", 0), notice("b", 1)], path, office.post)
    ledger = Ledger.at(path)
    assert (ledger.places(), ledger.counts()) == ({0: 2}, {"sent": 2})
    ledger.close()
    assert outcomes([notice("b", 1), notice("c", 2)], path, office.post) == [None, "sent"]
    assert len(office.taken) == 3


def test_death_in_between_repeats_one_letter_with_its_id(office: Office, path: Path) -> None:
    class Dying(Ledger):
        def write(self, order_id: str, outcome: Any, reason: str = "") -> None:
            if outcome == "sent":
                raise KeyboardInterrupt
            super().write(order_id, outcome, reason)

    dying, post = Dying.at(path), office.post
    with pytest.raises(KeyboardInterrupt):
        list(deliver([notice("a", 0)], dying, post))
    post.close()
    dying.close()
    assert outcomes([notice("a", 0)], path, office.post) == ["sent"]
    first, second = office.letters
    assert first["Message-ID"] == second["Message-ID"]


def test_lost_connection_is_opened_again(office: Office, path: Path) -> None:
    office.after_data = ["hang up"]
    assert outcomes([notice("a", 0)], path, office.post) == ["sent"]


def test_passing_refusal_is_tried_again(office: Office, path: Path) -> None:
    office.after_data = ["451 later", "452 still later"]
    assert outcomes([notice("a", 0)], path, office.post) == ["sent"]


def test_refused_address_is_noted_and_others_go_on(office: Office, path: Path) -> None:
    office.answers = {"rcpt TO:<nobody@example.org>": "550 no such user"}
    notices = [notice("a", 0, value("nobody@example.org")), notice("b", 1)]
    assert outcomes(notices, path, office.post) == ["refused", "sent"]


def test_refused_sender_is_no_fault_of_the_letter(office: Office, path: Path) -> None:
    office.answers = {"mail FROM": "553 who are you"}
    with pytest.raises(EnvironmentFault, match="who are you"):
        outcomes([notice("a", 0)], path, office.post)
    office.answers = {}
    assert outcomes([notice("a", 0)], path, office.post) == ["sent"]


def test_server_that_is_away_loses_nothing(office: Office, path: Path) -> None:
    with pytest.raises(EnvironmentFault, match="goes on where it was"):
        outcomes([notice("a", 0)], path, Smtp(Mail("127.0.0.1", "shop@example.org", port=1, timeout=1), wait=0))
    assert outcomes([notice("a", 0)], path, office.post) == ["sent"]


@pytest.mark.parametrize(
    ("order_id", "body", "reason"),
    [
        ("a", value(email=None), "no_address"),
        ("a", value(email="no at"), "no_address"),
        ("a", value(email="two@at@example.org"), "bad_address"),
        ("a", value(email="a@example.org\nBcc: b@example.org"), "bad_address"),
        ("a", value(email="\ud800@example.org"), "bad_address"),
        ("a", value(customer=None), "not_a_notice"),
        ("a", "text", "not_a_notice"),
        (None, value(), "not_a_notice"),
    ],
)
def test_what_is_no_notice_gives_no_letter(order_id: str | None, body: Any, reason: str) -> None:
    with pytest.raises(Undeliverable, match=reason):
        letter(order_id, body)


def test_undeliverable_notices_are_counted_and_passed(office: Office, path: Path) -> None:
    notices = [notice("a", 0, value(email=None)), notice(None, 1), notice("b", 2)]
    assert outcomes(notices, path, office.post) == ["undeliverable", "undeliverable", "sent"]
    ledger = Ledger.at(path)
    assert (ledger.counts(), ledger.places()) == ({"sent": 1, "undeliverable": 2}, {0: 3})
    ledger.close()


def test_halves_of_characters_do_no_harm(office: Office, path: Path) -> None:
    body = value(order={"product": "\ud800", "quantity": 1})
    assert outcomes([notice("a\r\nBcc: x@example.org", 0, body)], path, office.post) == ["sent"]
    assert office.letters[0]["Bcc"] is None


def test_order_of_several_lines_lists_them(office: Office, path: Path) -> None:
    items = [{"product": "JUMPERS", "quantity": 1}, None, {"product": "STOCKINGS", "quantity": 3}]
    made = letter("a", value(order={"items": items, "product": None}, payment=None))
    assert made.text.split("\n")[2:6] == ["your order a is confirmed.", "", "1 x JUMPERS", "3 x STOCKINGS"]


def test_dry_run_shows_and_remembers_nothing(office: Office, path: Path) -> None:
    outcomes([notice("a", 0)], path, office.post)
    out = StringIO()
    ledger = Ledger.copy_of(path)
    results = [d.outcome for d in deliver([notice("a", 0), notice("b", 1), notice("b", 2)], ledger, Shown(out))]
    ledger.close()
    after = Ledger.at(path)
    assert (results, after.counts(), out.getvalue().count("Subject: Your order b")) == (
        [None, "sent", None],
        {"sent": 1},
        1,
    )
    after.close()


def test_full_disk_is_reported(path: Path) -> None:
    ledger = Ledger.at(path)
    ledger._connection.execute("pragma max_page_count = 5")
    with pytest.raises(EnvironmentFault, match=r"order-emails\.sqlite: database or disk is full; see whether"):
        for number in range(1000):
            ledger.write(f"order {number}", "sent")
    assert ledger.counts()["sent"] > 0
    ledger.close()


@pytest.mark.parametrize("open_ledger", [Ledger.at, Ledger.copy_of])
def test_file_that_is_no_ledger_is_reported(open_ledger: Callable[[Path], Ledger], path: Path) -> None:
    path.parent.mkdir()
    path.write_text("Dear Ada King, " * 100, "utf-8")
    with pytest.raises(EnvironmentFault, match="it is no ledger"):
        open_ledger(path)


@pytest.mark.parametrize("open_ledger", [Ledger.at, Ledger.copy_of])
def test_ledger_that_cannot_be_opened_is_reported(open_ledger: Callable[[Path], Ledger], path: Path) -> None:
    path.mkdir(parents=True)
    with pytest.raises(EnvironmentFault, match="unable to open database file"):
        open_ledger(path)
