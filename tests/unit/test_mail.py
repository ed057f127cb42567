"""The sample sender: what a letter says, and that each order has one, against a real SMTP server on loopback."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from typing import Any

import obstore
import pytest

from headrace.errors import EnvironmentFault, Locked
from headrace.mail import ledger as ledgers
from headrace.mail.disk_ledger import DiskLedger
from headrace.mail.ledger import Ledger
from headrace.mail.letter import Undeliverable, letter
from headrace.mail.outcome import Outcome, Place
from headrace.mail.post import Shown, Smtp
from headrace.mail.sender import deliver
from headrace.project.model import Mail
from headrace.serving import mail
from headrace.store.layout import Layout
from headrace.store.paths import StorePath
from tests import buckets
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


@pytest.fixture(params=["disk", "bucket"])
def layout(request: pytest.FixtureRequest, tmp_path: Path) -> Layout:
    """A store of either kind."""
    return Layout(tmp_path, None if request.param == "disk" else buckets.in_memory() / "shop")


@pytest.fixture
def folder(layout: Layout) -> StorePath:
    """Where ledgers are."""
    return layout.mail


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The file of a ledger on a disk."""
    return tmp_path / "mail" / f"{TOPIC}.sqlite"


@contextmanager
def opened(folder: StorePath) -> Iterator[Ledger]:
    """The ledger as a process of its own would open it."""
    ledger = ledgers.of(folder, TOPIC)
    try:
        yield ledger
    finally:
        ledger.close()


def outcomes(notices: list[dict[str, Any]], folder: StorePath, post: Any) -> list[str | None]:
    """Deliver in a process of its own, so to speak: everything is opened, and closed at the end."""
    with opened(folder) as ledger:
        try:
            return [delivery.outcome for delivery in deliver(notices, ledger, post)]
        finally:
            post.close()


def test_letter_shows_what_is_paid(office: Office, folder: StorePath) -> None:
    outcomes([notice("a", 0)], folder, office.post)
    (found,) = office.letters
    assert (found["From"], found["To"], found["Subject"]) == (
        "shop@example.org",
        "Ada King <ada@example.org>",
        "Your order a is paid",
    )
    assert found.get_content().splitlines() == [
        *["Dear Ada King,", "", "your order a is paid.", "", "2 x JUMPERS", "Paid: 19 EUR"]
    ]


def test_each_order_has_one_letter(office: Office, folder: StorePath) -> None:
    notices = [notice("a", 0), notice("b", 1), notice("a", 2)]
    assert outcomes(notices, folder, office.post) == ["sent", "sent", None]
    assert [found["Subject"] for found in office.letters] == ["Your order a is paid", "Your order b is paid"]


def test_restart_goes_on_behind_the_last(office: Office, folder: StorePath) -> None:
    outcomes([notice("a", 0), notice("b", 1)], folder, office.post)
    with opened(folder) as ledger:
        assert (ledger.places(), ledger.counts()) == ({0: 2}, {"sent": 2})
    assert outcomes([notice("b", 1), notice("c", 2)], folder, office.post) == [None, "sent"]
    assert len(office.taken) == 3


def test_death_in_between_repeats_one_letter_with_its_id(
    office: Office, folder: StorePath, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(folder) as dying:
        write, post = dying.write, office.post

        def dies(order_id: str, place: Place, outcome: Outcome, reason: str = "") -> None:
            if outcome == "sent":
                raise KeyboardInterrupt
            write(order_id, place, outcome, reason)

        with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
            patched.setattr(dying, "write", dies)
            list(deliver([notice("a", 0)], dying, post))
        post.close()
    assert outcomes([notice("a", 0)], folder, office.post) == ["sent"]
    first, second = office.letters
    assert first["Message-ID"] == second["Message-ID"]


def test_lost_connection_is_opened_again(office: Office, folder: StorePath) -> None:
    office.after_data = ["hang up"]
    assert outcomes([notice("a", 0)], folder, office.post) == ["sent"]


def test_passing_refusal_is_tried_again(office: Office, folder: StorePath) -> None:
    office.after_data = ["451 later", "452 still later"]
    assert outcomes([notice("a", 0)], folder, office.post) == ["sent"]


def test_refused_address_is_noted_and_others_go_on(office: Office, folder: StorePath) -> None:
    office.answers = {"rcpt TO:<nobody@example.org>": "550 no such user"}
    notices = [notice("a", 0, value("nobody@example.org")), notice("b", 1)]
    assert outcomes(notices, folder, office.post) == ["refused", "sent"]


def test_refused_sender_is_no_fault_of_the_letter(office: Office, folder: StorePath) -> None:
    office.answers = {"mail FROM": "553 who are you"}
    with pytest.raises(EnvironmentFault, match="who are you"):
        outcomes([notice("a", 0)], folder, office.post)
    office.answers = {}
    assert outcomes([notice("a", 0)], folder, office.post) == ["sent"]


def test_server_that_is_away_loses_nothing(office: Office, folder: StorePath) -> None:
    with pytest.raises(EnvironmentFault, match="goes on where it was"):
        outcomes([notice("a", 0)], folder, Smtp(Mail("127.0.0.1", "shop@example.org", port=1, timeout=1), wait=0))
    assert outcomes([notice("a", 0)], folder, office.post) == ["sent"]


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


def test_undeliverable_notices_are_counted_and_passed(office: Office, folder: StorePath) -> None:
    notices = [notice("a", 0, value(email=None)), notice(None, 1), notice("b", 2)]
    assert outcomes(notices, folder, office.post) == ["undeliverable", "undeliverable", "sent"]
    with opened(folder) as ledger:
        assert (ledger.counts(), ledger.places()) == ({"sent": 1, "undeliverable": 2}, {0: 3})


def test_halves_of_characters_do_no_harm(office: Office, folder: StorePath) -> None:
    body = value(order={"product": "\ud800", "quantity": 1})
    assert outcomes([notice("a\r\nBcc: x@example.org", 0, body)], folder, office.post) == ["sent"]
    assert office.letters[0]["Bcc"] is None


def test_order_of_several_lines_lists_them(office: Office, folder: StorePath) -> None:
    items = [{"product": "JUMPERS", "quantity": 1}, None, {"product": "STOCKINGS", "quantity": 3}]
    made = letter("a", value(order={"items": items, "product": None}, payment=None))
    assert made.text.split("\n")[2:6] == ["your order a is confirmed.", "", "1 x JUMPERS", "3 x STOCKINGS"]


def test_dry_run_shows_and_remembers_nothing(office: Office, folder: StorePath) -> None:
    outcomes([notice("a", 0)], folder, office.post)
    out = StringIO()
    ledger = ledgers.rehearsal(folder, TOPIC)
    results = [d.outcome for d in deliver([notice("a", 0), notice("b", 1), notice("b", 2)], ledger, Shown(out))]
    ledger.close()
    with opened(folder) as after:
        assert (results, after.counts()) == ([None, "sent", None], {"sent": 1})
    assert out.getvalue().count("Subject: Your order b") == 1


def test_death_before_the_mark_counts_the_letter_once(office: Office, folder: StorePath) -> None:
    with opened(folder) as dying:
        post = office.post
        next(iter(deliver([notice("a", 3)], dying, post)))
        post.close()
    assert outcomes([notice("a", 3), notice("a", 4)], folder, office.post) == [None, None]
    with opened(folder) as after:
        assert (after.counts(), after.places()) == ({"sent": 1}, {0: 5})


def test_service_counts_the_letters_of_all_ledgers(layout: Layout, office: Office) -> None:
    assert mail.counts(layout) == {"sent": 0, "dry_run": 0, "failed": 0}
    outcomes([notice("a", 0), notice("b", 1), notice("c", 2, value(email=None))], layout.mail, office.post)
    assert mail.counts(layout) == {"sent": 2, "dry_run": 0, "failed": 1}


def test_sender_that_was_stopped_sends_nothing_twice(office: Office) -> None:
    folder = buckets.in_memory()
    with opened(folder) as stopped:
        assert not stopped.is_done("a")  # and is stopped, so that its lease expires
        assert outcomes([notice("a", 0)], folder, office.post) == ["sent"]
        with pytest.raises(Locked, match=f"another process sends the letters of {TOPIC}"):
            stopped.write("a", Place(0, 0), "sending")
        with pytest.raises(Locked, match=r"topic\.json"):
            stopped.mark_read(Place(0, 0))
    assert len(office.taken) == 1


def test_answer_that_was_lost_is_no_other_sender(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = buckets.in_memory()
    monkeypatch.setattr(obstore, "put", buckets.late_answers(obstore.put))
    assert outcomes([notice("a", 0), notice("b", 1)], folder, office.post) == ["sent", "sent"]


def test_write_takes_as_long_however_many_letters(monkeypatch: pytest.MonkeyPatch) -> None:
    put, sizes, folder = obstore.put, list[int](), buckets.in_memory()
    monkeypatch.setattr(obstore, "put", lambda *words, **named: sizes.append(len(words[2])) or put(*words, **named))
    with opened(folder) as ledger:
        for number in range(100):
            ledger.write("same length", Place(0, 1000 + number), "sent")
            ledger.mark_read(Place(0, 1000 + number))
    assert sizes[-2:] == [pytest.approx(size, abs=3) for size in sizes[:2]]


def test_full_disk_is_reported(path: Path) -> None:
    ledger = DiskLedger.at(path)
    ledger._connection.execute("pragma max_page_count = 5")
    with pytest.raises(EnvironmentFault, match=r"order-emails\.sqlite: database or disk is full; see whether"):
        for number in range(1000):
            ledger.write(f"order {number}", Place(0, number), "sent")
    assert ledger.counts()["sent"] > 0
    ledger.close()


@pytest.mark.parametrize("open_ledger", [DiskLedger.at, DiskLedger.copy_of])
def test_file_that_is_no_ledger_is_reported(open_ledger: Callable[[Path], DiskLedger], path: Path) -> None:
    path.parent.mkdir()
    path.write_text("Dear Ada King, " * 100, "utf-8")
    with pytest.raises(EnvironmentFault, match="it is no ledger"):
        open_ledger(path)


@pytest.mark.parametrize("open_ledger", [DiskLedger.at, DiskLedger.copy_of])
def test_ledger_that_cannot_be_opened_is_reported(open_ledger: Callable[[Path], DiskLedger], path: Path) -> None:
    path.mkdir(parents=True)
    with pytest.raises(EnvironmentFault, match="unable to open database file"):
        open_ledger(path)
