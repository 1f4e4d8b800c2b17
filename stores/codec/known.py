"""The classes of LangChain and LangGraph that are kept without being named by the application.

A fixed table, not a prefix: each is data only, and each of LangChain's is one that LangChain's own
loader revives. They are stored by short name, so that a module which moves hurts nothing.
"""

from typing import Final

#: LangChain's classes and where they are imported from.
LANGCHAIN: Final[dict[str, str]] = {
    **dict.fromkeys(
        (
            *("AIMessage", "AIMessageChunk", "BaseMessage", "BaseMessageChunk", "ChatMessage"),
            *("ChatMessageChunk", "FunctionMessage", "FunctionMessageChunk", "HumanMessage"),
            *("HumanMessageChunk", "RemoveMessage", "SystemMessage", "SystemMessageChunk"),
            *("ToolMessage", "ToolMessageChunk"),
        ),
        "langchain_core.messages",
    ),
    "Document": "langchain_core.documents",
    # The text of a message, as `message.text` gives it: a string that can be called, too.
    "TextAccessor": "langchain_core.messages.base",
    **dict.fromkeys(
        ("AgentAction", "AgentActionMessageLog", "AgentFinish"), "langchain_core.agents"
    ),
    **dict.fromkeys(
        ("ChatGeneration", "ChatGenerationChunk", "Generation", "GenerationChunk"),
        "langchain_core.outputs",
    ),
    **dict.fromkeys(
        ("ChatPromptValue", "ChatPromptValueConcrete", "StringPromptValue"),
        "langchain_core.prompt_values",
    ),
}

#: LangChain's prompts. They keep less than they hold and find the rest when they are made anew.
PROMPTS: Final[dict[str, str]] = {
    **dict.fromkeys(
        (
            *("AIMessagePromptTemplate", "ChatMessagePromptTemplate", "ChatPromptTemplate"),
            *("HumanMessagePromptTemplate", "MessagesPlaceholder", "SystemMessagePromptTemplate"),
        ),
        "langchain_core.prompts.chat",
    ),
    "DictPromptTemplate": "langchain_core.prompts.dict",
    "FewShotPromptWithTemplates": "langchain_core.prompts.few_shot_with_templates",
    "ImagePromptTemplate": "langchain_core.prompts.image",
    "PromptTemplate": "langchain_core.prompts.prompt",
}

#: LangGraph's classes and where they are imported from.
LANGGRAPH: Final[dict[str, str]] = {
    **dict.fromkeys(
        (
            *("Command", "Interrupt", "Overwrite", "PregelTask", "Send", "StateSnapshot"),
            *("StateUpdate", "TimeoutPolicy"),
        ),
        "langgraph.types",
    ),
    **dict.fromkeys(("GetOp", "Item", "SearchItem"), "langgraph.store.base"),
    "_DeltaSnapshot": "langgraph.checkpoint.serde.types",
}
