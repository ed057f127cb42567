"""XML of records: what it refers to is not fetched."""

from __future__ import annotations

from pathlib import Path
from socketserver import BaseRequestHandler, TCPServer
from threading import Thread

import pytest
from pyspark.sql import SparkSession

from headrace.spark.spark_errors import SPARK_ERRORS

TYPES = {
    "type": '<!DOCTYPE a SYSTEM "{place}"><a>b</a>',
    "entity": '<!DOCTYPE a [<!ENTITY x SYSTEM "{place}">]><a>&x;</a>',
    "parameter": '<!DOCTYPE a [<!ENTITY % x SYSTEM "{place}"> %x;]><a>b</a>',
}


@pytest.mark.parametrize("document", TYPES.values(), ids=TYPES)
@pytest.mark.parametrize("call", ["xpath_string(x, '/a')", "from_xml(x, '_VALUE string')"])
def test_xml_of_a_record_fetches_nothing(spark: SparkSession, tmp_path: Path, document: str, call: str) -> None:
    asked = list[object]()

    class Asked(BaseRequestHandler):
        def handle(self) -> None:
            asked.append(self.client_address)

    with TCPServer(("127.0.0.1", 0), Asked) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        text = document.format(place=f"http://127.0.0.1:{server.server_address[1]}/x")
        try:
            found = spark.createDataFrame([(text,)], "x string").selectExpr(f"cast({call} as string) as y").collect()
        except SPARK_ERRORS:
            found = []
        server.shutdown()
    assert asked == []
    assert found in ([], [("b",)], [("{b}",)], [("",)], [(None,)], [("{null}",)])
