"""Spans that record nothing."""
import contextlib


class Tracer:
    @contextlib.contextmanager
    def start_as_current_span(self, name, context=None):
        yield


def get_tracer(name):
    return Tracer()
