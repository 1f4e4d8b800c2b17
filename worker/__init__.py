"""The outside: the Celery application, its tasks and schedule, the settings and the command line."""
