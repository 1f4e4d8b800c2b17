"""Results as `celery result` prints them: JSON, which other programs can read."""

import json
from typing import Any

from celery.result import AsyncResult


class Document(dict[str, Any]):
    """A JSON object whose text is JSON."""

    def __str__(self) -> str:
        return json.dumps(self, ensure_ascii=False)


class JsonResult(AsyncResult[Any]):
    """The result of a task, where an object is given as a `Document`."""

    def get(self, *args: Any, **kwargs: Any) -> Any:
        """Wait for the result; Celery's own arguments and errors."""
        value = super().get(*args, **kwargs)
        return Document(value) if isinstance(value, dict) else value
