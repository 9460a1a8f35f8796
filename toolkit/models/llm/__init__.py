"""Language models that write: a server behind OPENAI_BASE_URL or a checkpoint on this machine, with a cache of answers."""

from toolkit.models.llm.cache import AnswerCache, default_cache
from toolkit.models.llm.client import LLM
from toolkit.models.llm.endpoint import Endpoint
from toolkit.models.llm.load import load_llm
from toolkit.models.llm.messages import Answer, Request, Usage
from toolkit.models.llm.prompts import Prompt, load_prompt

__all__ = ["LLM", "Answer", "AnswerCache", "Endpoint", "Prompt", "Request", "Usage", "default_cache", "load_llm", "load_prompt"]
