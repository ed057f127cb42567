"""`headrace mail` on a real topic and a real mail server: shown, sent once, and resumed."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace import cli
from tests.kafka.cluster import Cluster
from tests.post_office import Office, open_office
from tests.waiting import PATIENCE

pytestmark = pytest.mark.kafka


@pytest.fixture
def office() -> Iterator[Office]:
    with open_office() as found:
        yield found


def notice(topic: str, order_id: str) -> tuple[str, str, str]:
    """A record of an order whose customer is named as the order."""
    customer = {"id": 1, "firstName": order_id, "email": f"{order_id}@example.org"}
    return topic, order_id, json.dumps({"order": {"id": order_id}, "payment": None, "customer": customer})


def test_each_order_has_one_letter(cluster: Cluster, office: Office, tmp_path: Path, capfd: Any) -> None:
    topic = f"emails-{uuid.uuid4().hex[:8]}"
    (tmp_path / "conf").mkdir()
    (tmp_path / "sql").mkdir()
    (tmp_path / "manifest.yml").write_text("name: post\nversion: 1\nsql-paths: [sql]\n")
    mail = f"mail: {{host: 127.0.0.1, port: {office.port}, sender: shop@example.org}}\n"
    (tmp_path / "conf" / "local.yml").write_text(f"kafka: {{bootstrap: '{cluster.bootstrap}'}}\n{mail}")

    def called(*options: str, notices: int) -> str:
        end = ("--limit", str(notices), "--timeout", str(PATIENCE)) if notices else ("--timeout", "2")
        with pytest.raises(SystemExit) as ended:
            cli.main(["-C", str(tmp_path), "mail", topic, *end, *options])
        assert ended.value.code == 0
        return str(capfd.readouterr().out)

    cluster.create({topic: 2})
    cluster.send([notice(topic, order_id) for order_id in ("ada", "ben", "ada")])
    shown = called(notices=3)
    assert (sorted(line for line in shown.splitlines() if line.startswith("To: ")), office.taken) == (
        ["To: ada <ada@example.org>", "To: ben <ben@example.org>"],
        [],
    )
    called("--send", notices=3)
    cluster.send([notice(topic, "ben"), notice(topic, "cleo")])
    called("--send", notices=2)
    assert sorted(str(letter["To"]) for letter in office.letters) == [
        *("ada <ada@example.org>", "ben <ben@example.org>", "cleo <cleo@example.org>")
    ]
    assert called(notices=0) == ""
