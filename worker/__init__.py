"""The outside: Celery application, tasks, schedule, settings and the command line."""
