"""Small programs, one for each kind of owner.

Run them in the checkout's folder::

    .venv/bin/python -m examples.agent_run
    .venv/bin/python -m examples.flow_run --store sqlite:///letters.db
    .venv/bin/python -m examples.conversation --store redis://localhost:6379/0 --async
"""
