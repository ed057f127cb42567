"""The command that serves HTTP."""

from __future__ import annotations

from headrace.commands.running import stop_on_signals
from headrace.commands.workspace import Workspace
from headrace.logs import event_logger


def serve(workspace: Workspace, host: str, port: int, waiters: int) -> int:
    """Serve until asked to stop."""
    from headrace.serving import server

    project = workspace.connected()
    log = event_logger(workspace.layout.logs, name=f"serve-{port}")
    with stop_on_signals() as stopped:
        server.serve(project, server.Settings(host, port, waiters), log, stopped.event.is_set)
    return stopped.exit_code
