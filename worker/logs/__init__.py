"""The log of the worker, of beat and of the command: one line for each event.

``time=… level=… event=…``, then what the event is about, then the Celery task it happened in, or
the same as one JSON object. Lines of Celery and of the drivers have the same form, with their text
as ``message``.
"""
