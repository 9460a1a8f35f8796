"""NV-Embed: a decoder whose tokens attend in both directions, and latent attention over its last states (arXiv 2405.17428)."""

from typing import Any

import torch
from torch import nn
from torch.nn.functional import gelu, scaled_dot_product_attention
from transformers import MistralConfig, MistralModel, PreTrainedModel
from transformers.modeling_outputs import BaseModelOutput

LATENTS = {"num_latents_value": 512, "num_cross_heads": 8, "cross_dim_head": 4096}  # where config.json does not say


class LatentAttention(nn.Module):
    """Each token's state attends to a table of learnt vectors and goes through a gated feed-forward layer, with residuals.

    settings  of config.json's `latent_attention_config`, over `LATENTS`
    """

    def __init__(self, width: int, settings: dict[str, Any]):
        super().__init__()
        settings = {**LATENTS, **settings}
        self.heads = settings["num_cross_heads"]
        inner = self.heads * settings["cross_dim_head"]
        queries, pairs = (nn.Linear(width, size, bias=False) for size in (inner, 2 * inner))
        attend = nn.ModuleDict({"to_q": queries, "to_kv": pairs, "to_out": nn.Linear(inner, width, bias=False)})
        feed = nn.ModuleDict({"net": nn.Sequential(nn.Linear(width, 8 * width), Gated(), nn.Linear(4 * width, width))})
        blocks = [{"fn": attend, "norm": nn.LayerNorm(width), "norm_context": nn.LayerNorm(width)}]
        blocks.append({"fn": feed, "norm": nn.LayerNorm(width)})
        self.cross_attend_blocks = nn.ModuleList(map(nn.ModuleDict, blocks))
        self.latents = nn.Parameter(torch.empty(settings["num_latents_value"], width))

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """(n, t, width) of the decoder -> the same shape, before any pooling: tokens do not see each other here."""
        attend, feed = self.cross_attend_blocks
        read = attend["fn"]
        pairs = read["to_kv"](attend["norm_context"](self.latents)).expand(len(states), -1, -1)  # the same for every text
        each = (read["to_q"](attend["norm"](states)), *pairs.chunk(2, dim=-1))
        # (n, t, heads * d) -> (n, heads, t, d)
        found = scaled_dot_product_attention(*(values.unflatten(-1, (self.heads, -1)).transpose(1, 2) for values in each))
        states = states + read["to_out"](found.transpose(1, 2).flatten(2))
        return states + feed["fn"]["net"](feed["norm"](states))


class Gated(nn.Module):
    """GEGLU."""

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        """(..., 2 d) -> (..., d): the first half times the GELU of the second."""
        kept, gates = values.chunk(2, dim=-1)
        return kept * gelu(gates)


class LatentAttentionEncoder(PreTrainedModel):
    """The whole model, by the names of NV-Embed's files; `last_hidden_state` is what is averaged over a text's tokens."""

    config_class = MistralConfig
    _supports_sdpa = True
    _no_split_modules = ("MistralDecoderLayer",)

    def __init__(self, config: MistralConfig):
        super().__init__(config)
        self.embedding_model = MistralModel(config)
        self.latent_attention_model = LatentAttention(config.hidden_size, config.latent_attention_config)
        self.post_init()

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor | None = None) -> BaseModelOutput:
        """As MistralModel's."""
        states = self.embedding_model(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        return BaseModelOutput(last_hidden_state=self.latent_attention_model(states))
