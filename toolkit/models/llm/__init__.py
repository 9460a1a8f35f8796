"""Language models that write: a server behind OPENAI_BASE_URL or a checkpoint on this machine, with a cache of answers."""

from toolkit.core.system.lazy_names import lazy_names

__getattr__, __all__ = lazy_names(
    __name__,
    {
        "answer_cache": ("AnswerCache",),
        "client": ("LLM", "Endpoint", "default_cache", "load_llm"),
        "messages": ("Answer", "Request", "Usage"),
        "prompts": ("Prompt", "chosen_prompt", "load_prompt"),
    },
)
