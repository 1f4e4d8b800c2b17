"""Reading what a saver is asked for out of a LangGraph config."""

from typing import Any, cast

from langchain_core.runnables import RunnableConfig


def with_text_id(config: RunnableConfig) -> RunnableConfig:
    """The config with its thread id as text: graphs make it so, direct callers pass any type."""
    configurable: dict[str, Any] = config.get("configurable") or {}
    if isinstance(configurable.get("thread_id", ""), str):
        return config
    text = {**configurable, "thread_id": str(configurable["thread_id"])}
    return cast("RunnableConfig", {**config, "configurable": text})
