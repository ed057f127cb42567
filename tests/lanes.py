"""How test files are distributed among the workers of pytest-xdist."""

from __future__ import annotations

from pathlib import PurePosixPath

from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController


class Lanes(LoadFileScheduling):
    """A file stays with one worker, and so do all cases of a model, which are planned once.

    Tests with a broker come first and mostly wait, those that come last mostly compute. So one worker takes files from
    the end, the others from the beginning.
    """

    def _split_scope(self, nodeid: str) -> str:
        file = PurePosixPath(super()._split_scope(nodeid))
        return str(file.parent if file.suffix == ".yml" else file)

    def _assign_work_unit(self, node: WorkerController) -> None:
        if node is self.nodes[-1]:
            self.workqueue.move_to_end(next(reversed(self.workqueue)), last=False)
        super()._assign_work_unit(node)
