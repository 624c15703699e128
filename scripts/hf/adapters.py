"""Low-rank adapters (LoRA) with random weights to models in the Hugging Face layout, as PEFT writes them, with what PEFT computes: for the tests of hf.

  python scripts/hf/adapters.py MODELS OUT [--seed 11] [NAME…]     with hf/testdata and hf/families/testdata/adapters it writes what is bundled

needs peft 0.21.2 from PyPI, and what families.py needs. OUT/NAME is an adapter to MODELS/NAME; expected.json has the input, expected.npy the output, greedy.json a
prompt and the tokens that follow it. Model and adapter are read back from their files, in float32.
"""
import argparse
import json
from pathlib import Path

import numpy as np
import peft
import torch
import transformers as tf

qkvo = ["q_proj", "k_proj", "v_proj", "o_proj"]
mlp = ["gate_proj", "up_proj", "down_proj"]
adapters = {
    "llama": dict(r=3, lora_alpha=6, use_rslora=True, target_modules=qkvo + mlp + ["lm_head"], rank_pattern={"q_proj": 2, "layers.1.mlp.up_proj": 5},
        alpha_pattern={"v_proj": 9}),
    "gpt2": dict(r=2, lora_alpha=5, target_modules=["c_attn", "c_proj"], fan_in_fan_out=True),
    "mistral": dict(r=4, lora_alpha=8, target_modules=["q_proj", "v_proj"]),
    "qwen2": dict(r=4, lora_alpha=16, target_modules=r".*\.(q|k|v|o)_proj"),
    "qwen3": dict(r=4, lora_alpha=8, target_modules=qkvo + mlp),
    "gemma2": dict(r=4, lora_alpha=8, target_modules=qkvo),
    "phi3": dict(r=4, lora_alpha=8, target_modules=["qkv_proj", "o_proj", "gate_up_proj", "down_proj"]),
    "gpt-neox": dict(r=4, lora_alpha=8, target_modules=["query_key_value", "dense"]),
    "bloom": dict(r=4, lora_alpha=8, target_modules=["query_key_value"]),
    "opt": dict(r=4, lora_alpha=8, target_modules=["q_proj", "v_proj", "fc1"]),
}


def make(models, out, name, seed):
    torch.manual_seed(seed)
    folder, to = models / name, out / name
    wrapped = peft.get_peft_model(tf.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32), peft.LoraConfig(task_type="CAUSAL_LM", **adapters[name]))
    with torch.no_grad():
        for at, p in wrapped.named_parameters():
            if "lora_" in at:
                p.normal_(0, 0.3 / p.shape[1] ** 0.5)
    wrapped.save_pretrained(to, save_embedding_layers=False)
    (to / "README.md").unlink(missing_ok=True)
    model = peft.PeftModel.from_pretrained(tf.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32), to).eval()
    plain = tf.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    size = model.config.vocab_size
    ids = torch.randint(2, size, (1, 12))
    with torch.no_grad():
        logits = model(ids).logits[0]
        apart = (logits - plain(ids).logits[0]).abs().max() / (logits.max() - logits.min())
    assert apart > 0.02, f"{name}: the adapter changes next to nothing"
    (to / "expected.json").write_text(json.dumps({"input_ids": ids[0].tolist()}) + "\n")
    np.save(to / "expected.npy", logits.numpy())
    prompt, text = ids[:, :6], ids[:, :6]
    with torch.no_grad():
        for _ in range(6):
            text = torch.cat([text, model(text).logits[:, -1:].argmax(-1)], 1)
    (to / "greedy.json").write_text(json.dumps({"prompt": prompt[0].tolist(), "tokens": text[0, 6:].tolist()}) + "\n")
    print(f"{name}: the adapter moves logits by {apart:.3f} of their range")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--seed", type=int, default=11)
    options = parser.parse_args()
    for name in options.names or [n for n in adapters if (options.models / n).is_dir()]:
        make(options.models, options.out, name, options.seed)


if __name__ == "__main__":
    main()
