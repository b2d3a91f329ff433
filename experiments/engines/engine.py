"""What engines share unless they say otherwise."""


class Engine:
    name = ""
    at_once = 1

    @property
    def width(self):
        return self.at_once

    def check(self):
        """Everything that was asked for is there."""

    def prepare(self):
        self.check()

    def place(self, _kind, node, tasks):
        return node if len(tasks) < self.at_once else None

    def lost(self, _kind, _node):
        return ""

    def foreign(self, task):
        # A task of `local` ends with its driver, and one driver at a time has the folder.
        return "" if task.engine in ("", "local", self.name) else f"--on={task.engine} started it"
