"""What a text holds is what runs: Spark puts no variables of the process in place of it."""

from __future__ import annotations

import pytest

from headrace.engine.session import child

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("text", ["${env:PATH}", "${system:user.home}", "${spark.app.name}", "${PATH}"])
def test_variables_stay_text_in_every_session(spark, text):
    found = [session.sql(f"select '{text}' as a").first().a for session in (spark, child(spark, "plain"))]
    assert found == [text, text]
