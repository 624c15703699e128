"""Tiny models of every family with random weights, in the Hugging Face layout, with what transformers computes: for the tests of hf.

  python scripts/hf/families.py [OUT] [--seed 11] [NAME…]       writes hf/testdata
  python scripts/hf/families.py --outliers OUT [--seed 11] [NAME…]   larger ones, for scripts/hf/run.sh

needs torch 2 (CPU), transformers 5.23.0, gguf 0.19.0 and numpy 2.4.6 from PyPI. The models are read back from their files in float32, so that the expectation
is that of the stored weights and of nothing else. expected.json has the input, expected.npy the output; greedy.json of a larger one a prompt and the tokens that
follow it, each with the greatest logit.
"""
import argparse
import json
import wave
from pathlib import Path

import gguf
import numpy as np
import torch
import transformers as tf
from safetensors.torch import load_file, save_file

base = dict(vocab_size=48, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=4, max_position_embeddings=32)
kv = dict(num_key_value_heads=2)
four = {**base, "num_hidden_layers": 4}
vit = dict(hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=4, image_size=12, patch_size=4)
deberta = dict(relative_attention=True, position_buckets=4, max_relative_positions=-1, norm_rel_ebd="layer_norm", share_att_key=True,
    position_biased_input=False, type_vocab_size=0, pos_att_type=["p2c", "c2p"])
deepseek = dict(q_lora_rank=8, kv_lora_rank=8, qk_rope_head_dim=4, qk_nope_head_dim=6, v_head_dim=4, n_routed_experts=9, num_experts_per_tok=2,
    moe_intermediate_size=8, first_k_dense_replace=1, n_group=3, topk_group=2, n_shared_experts=1)
gemma3n = dict(vocab_size_per_layer_input=48, hidden_size_per_layer_input=6, laurel_rank=3, altup_num_inputs=3, altup_active_idx=0, num_kv_shared_layers=2,
    layer_types=["sliding_attention", "full_attention"] * 3, activation_sparsity_pattern=[0.9, 0.0, 0.5, 0.0, 0.0, 0.8])
swin = dict(embed_dim=8, depths=[2, 2], num_heads=[2, 4], window_size=3, image_size=24, patch_size=4)
t5 = dict(vocab_size=48, d_model=16, d_kv=4, d_ff=24, num_layers=2, num_heads=4, relative_attention_num_buckets=8, relative_attention_max_distance=10,
    decoder_start_token_id=0, initializer_factor=0.2)



def seq2seq(c, **more):
    """A configuration of BART and models like it with the sizes of a common one."""
    d = dict(vocab_size=c["vocab_size"], d_model=c["hidden_size"], max_position_embeddings=c["max_position_embeddings"], pad_token_id=1, decoder_start_token_id=2,
        forced_eos_token_id=None)  # else generate ends the longest texts with it
    for part in ("encoder", "decoder"):
        d |= {part + "_layers": c["num_hidden_layers"], part + "_ffn_dim": c["intermediate_size"], part + "_attention_heads": c["num_attention_heads"]}
    return d | more


def sound(c):
    """A configuration of Whisper with the sizes of a common one."""
    d = seq2seq(c, pad_token_id=0, num_mel_bins=8, max_source_positions=c["hidden_size"] // 2, max_target_positions=c["max_position_embeddings"])
    del d["max_position_embeddings"]
    return d | dict(bos_token_id=0, eos_token_id=1)


def speech(m, d, gen):
    """Has a Whisper write: which tokens it begins with and never writes, and how it makes features of audio. Returns a second of audio: a voice of harmonics that
    rises, some noise, and silence; as samples of 16 bits and as features."""
    c, t = m.config, np.arange(16000) / 16000
    writes = dict(decoder_start_token_id=c.decoder_start_token_id, is_multilingual=True, lang_to_id={"<|en|>": 5, "<|de|>": 6}, task_to_id={"transcribe": 8, "translate": 7},
        no_timestamps_token_id=9, suppress_tokens=[2, 5, 6, 7, 8, 9, 30], begin_suppress_tokens=[1, 11], return_timestamps=False, max_length=c.max_target_positions)
    for k, v in writes.items():
        setattr(m.generation_config, k, v)
    m.generation_config.save_pretrained(d)
    front = tf.WhisperFeatureExtractor(feature_size=c.num_mel_bins, chunk_length=1)
    front.save_pretrained(d)
    phase = 2 * np.pi * (110 * t + 60 * t**2)
    x = sum(np.sin(k * phase) / k**1.5 for k in range(1, 25)) * (0.6 + 0.4 * np.sin(2 * np.pi * 5 * t)) + 0.02 * torch.randn(len(t), generator=gen).numpy()
    x[13000:] = 0
    samples = np.round(9000 * x).astype(np.int16)
    with wave.open(str(d / "audio.wav"), "wb") as w:
        w.setparams((1, 2, 16000, len(samples), "NONE", ""))
        w.writeframes(samples.tobytes())
    return samples, front(samples / np.float32(32768), sampling_rate=16000, return_tensors="pt").input_features


def clip_text(c):
    """A configuration of CLIP's texts with the sizes of a common one: they end with the last token of the vocabulary."""
    return c | dict(eos_token_id=c["vocab_size"] - 1, bos_token_id=0, pad_token_id=c["vocab_size"] - 1)


def no_inner(c):
    """A configuration without the size of the feed-forward part, which follows from a ratio."""
    return {k: v for k, v in c.items() if k != "intermediate_size"}


bf16, f16, f32 = torch.bfloat16, torch.float16, torch.float32
llama3 = {"rope_type": "llama3", "rope_theta": 10000.0, "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 16}
linear = {"rope_type": "linear", "rope_theta": 10000.0, "factor": 4.0}
yarn = {"rope_type": "yarn", "rope_theta": 10000.0, "factor": 4.0, "original_max_position_embeddings": 16}
yarn_all = {**yarn, "mscale": 0.707, "mscale_all_dim": 0.707}
long = {"rope_type": "longrope", "rope_theta": 10000.0, "short_factor": [1.0, 1.5], "long_factor": [2.0, 3.0], "original_max_position_embeddings": 16}
models = {
    "gpt2": (lambda: tf.GPT2LMHeadModel(tf.GPT2Config(vocab_size=48, n_embd=16, n_layer=2, n_head=4, n_positions=32)), f32),
    "gpt2-inverse": (lambda: tf.GPT2LMHeadModel(tf.GPT2Config(vocab_size=48, n_embd=16, n_layer=2, n_head=4, n_positions=32, n_inner=40,
        scale_attn_by_inverse_layer_idx=True, activation_function="relu", tie_word_embeddings=False)), f16),
    "llama": (lambda: tf.LlamaForCausalLM(tf.LlamaConfig(**base, **kv, rope_theta=500000.0)), bf16),
    "llama-bias": (lambda: tf.LlamaForCausalLM(tf.LlamaConfig(**base, attention_bias=True, mlp_bias=True, tie_word_embeddings=True, rope_parameters=linear)), f32),
    "llama3-rope-scaling": (lambda: tf.LlamaForCausalLM(tf.LlamaConfig(**base, **kv, rope_parameters=llama3)), bf16),
    "mistral": (lambda: tf.MistralForCausalLM(tf.MistralConfig(**base, **kv, sliding_window=5)), bf16),
    "qwen2": (lambda: tf.Qwen2ForCausalLM(tf.Qwen2Config(**base, **kv, tie_word_embeddings=True)), bf16),
    "qwen2-window": (lambda: tf.Qwen2ForCausalLM(tf.Qwen2Config(**four, **kv, use_sliding_window=True, sliding_window=5, max_window_layers=2)), bf16),
    "qwen3": (lambda: tf.Qwen3ForCausalLM(tf.Qwen3Config(**base, **kv, head_dim=8)), bf16),
    "qwen3-moe": (lambda: tf.Qwen3MoeForCausalLM(tf.Qwen3MoeConfig(**four, **kv, head_dim=4, num_experts=4, num_experts_per_tok=2,
        moe_intermediate_size=12, norm_topk_prob=True, decoder_sparse_step=2, mlp_only_layers=[3])), bf16),
    "qwen3-moe-unnormalised": (lambda: tf.Qwen3MoeForCausalLM(tf.Qwen3MoeConfig(**base, **kv, head_dim=4, num_experts=3, num_experts_per_tok=1,
        moe_intermediate_size=12, norm_topk_prob=False)), bf16),
    "mixtral": (lambda: tf.MixtralForCausalLM(tf.MixtralConfig(**base, **kv, num_local_experts=4, num_experts_per_tok=2, sliding_window=None)), bf16),
    "gemma2": (lambda: tf.Gemma2ForCausalLM(tf.Gemma2Config(**base, **kv, head_dim=8, sliding_window=5, query_pre_attn_scalar=6,
        attn_logit_softcapping=2.0, final_logit_softcapping=3.0)), bf16),
    "gemma3": (lambda: tf.Gemma3ForCausalLM(tf.Gemma3TextConfig(**{**base, "num_hidden_layers": 7}, **kv, head_dim=8, sliding_window=5, query_pre_attn_scalar=6)), bf16),
    "gemma3n": (lambda: tf.Gemma3nForCausalLM(tf.Gemma3nTextConfig(**{**base, "num_hidden_layers": 6}, **kv, **gemma3n, head_dim=8, sliding_window=5)), bf16),
    "phi3": (lambda: tf.Phi3ForCausalLM(tf.Phi3Config(**base, **kv, pad_token_id=0, bos_token_id=1, eos_token_id=2, sliding_window=5)), bf16),
    "phi3-longrope": (lambda: tf.Phi3ForCausalLM(tf.Phi3Config(**base, **kv, pad_token_id=0, bos_token_id=1, eos_token_id=2,
        original_max_position_embeddings=16, rope_parameters=long)), bf16),
    "olmo2": (lambda: tf.Olmo2ForCausalLM(tf.Olmo2Config(**base, **kv)), bf16),
    "gpt-neox": (lambda: tf.GPTNeoXForCausalLM(tf.GPTNeoXConfig(**{**base, "hidden_size": 32}, rotary_pct=0.25)), f16),
    "gpt-neox-serial": (lambda: tf.GPTNeoXForCausalLM(tf.GPTNeoXConfig(**base, use_parallel_residual=False, rotary_pct=1.0)), f16),
    "gemma": (lambda: tf.GemmaForCausalLM(tf.GemmaConfig(**base, **kv, head_dim=8)), bf16),
    "granite": (lambda: tf.GraniteForCausalLM(tf.GraniteConfig(**base, **kv, embedding_multiplier=3.0, residual_multiplier=0.4, attention_multiplier=0.2,
        logits_scaling=4.0, tie_word_embeddings=True)), bf16),
    "cohere": (lambda: tf.CohereForCausalLM(tf.CohereConfig(**base, **kv, use_qk_norm=True, logit_scale=0.5)), bf16),
    "cohere2": (lambda: tf.Cohere2ForCausalLM(tf.Cohere2Config(**four, **kv, head_dim=4, sliding_window=5, logit_scale=0.5)), bf16),
    "smollm3": (lambda: tf.SmolLM3ForCausalLM(tf.SmolLM3Config(**four, **kv, pad_token_id=0)), bf16),
    "olmo": (lambda: tf.OlmoForCausalLM(tf.OlmoConfig(**base, **kv, clip_qkv=0.7)), bf16),
    "olmo3": (lambda: tf.Olmo3ForCausalLM(tf.Olmo3Config(**four, **kv, sliding_window=5)), bf16),
    "starcoder2": (lambda: tf.Starcoder2ForCausalLM(tf.Starcoder2Config(**base, **kv, sliding_window=5)), bf16),
    "stablelm": (lambda: tf.StableLmForCausalLM(tf.StableLmConfig(**{**base, "hidden_size": 32}, **kv, use_qkv_bias=True, qk_layernorm=True)), bf16),
    "stablelm-parallel": (lambda: tf.StableLmForCausalLM(tf.StableLmConfig(**{**base, "hidden_size": 32}, num_key_value_heads=4, use_parallel_residual=True)), f16),
    "phi": (lambda: tf.PhiForCausalLM(tf.PhiConfig(**base, qk_layernorm=True)), f16),
    "nemotron": (lambda: tf.NemotronForCausalLM(tf.NemotronConfig(**base, **kv)), bf16),
    "glm": (lambda: tf.GlmForCausalLM(tf.GlmConfig(**base, **kv, head_dim=8, attention_bias=True, pad_token_id=0)), bf16),
    "glm4": (lambda: tf.Glm4ForCausalLM(tf.Glm4Config(**base, **kv, head_dim=8, pad_token_id=0)), bf16),
    "qwen2-moe": (lambda: tf.Qwen2MoeForCausalLM(tf.Qwen2MoeConfig(**base, **kv, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=12,
        shared_expert_intermediate_size=20)), bf16),
    "opt": (lambda: tf.OPTForCausalLM(tf.OPTConfig(vocab_size=48, hidden_size=16, num_hidden_layers=2, ffn_dim=24, max_position_embeddings=32,
        num_attention_heads=4)), f16),
    "opt-350m": (lambda: tf.OPTForCausalLM(tf.OPTConfig(vocab_size=48, hidden_size=16, num_hidden_layers=2, ffn_dim=24, max_position_embeddings=32,
        num_attention_heads=4, word_embed_proj_dim=12, do_layer_norm_before=False)), f16),
    "bloom": (lambda: tf.BloomForCausalLM(tf.BloomConfig(vocab_size=48, hidden_size=24, n_layer=2, n_head=6, seq_length=32)), f16),
    "falcon": (lambda: tf.FalconForCausalLM(tf.FalconConfig(vocab_size=48, hidden_size=16, num_hidden_layers=2, num_attention_heads=4,
        max_position_embeddings=32)), bf16),
    "falcon-new": (lambda: tf.FalconForCausalLM(tf.FalconConfig(vocab_size=48, hidden_size=16, num_hidden_layers=2, num_attention_heads=4, num_kv_heads=2,
        new_decoder_architecture=True, max_position_embeddings=32)), bf16),
    "falcon-alibi": (lambda: tf.FalconForCausalLM(tf.FalconConfig(vocab_size=48, hidden_size=16, num_hidden_layers=2, num_attention_heads=4, alibi=True,
        multi_query=False, parallel_attn=False, bias=True, max_position_embeddings=32)), bf16),
    "gptj": (lambda: tf.GPTJForCausalLM(tf.GPTJConfig(vocab_size=48, n_embd=32, n_layer=2, n_head=4, n_positions=32, rotary_dim=4)), f16),
    "gpt-neo": (lambda: tf.GPTNeoForCausalLM(tf.GPTNeoConfig(vocab_size=48, hidden_size=16, num_layers=2, num_heads=4, max_position_embeddings=32,
        attention_types=[[["global", "local"], 1]], window_size=5)), f32),
    "llama-yarn": (lambda: tf.LlamaForCausalLM(tf.LlamaConfig(**base, **kv, rope_parameters=yarn)), bf16),
    "deepseek-v2": (lambda: tf.DeepseekV2ForCausalLM(tf.DeepseekV2Config(**base, **deepseek, topk_method="group_limited_greedy", routed_scaling_factor=1.5)), bf16),
    "deepseek-v2-lite": (lambda: tf.DeepseekV2ForCausalLM(tf.DeepseekV2Config(**base, **deepseek | dict(q_lora_rank=None, n_group=1, topk_group=1, first_k_dense_replace=2), rope_parameters=yarn_all)), bf16),
    "deepseek-v3": (lambda: tf.DeepseekV3ForCausalLM(tf.DeepseekV3Config(**base, **deepseek, num_key_value_heads=4)), bf16),
    "mamba2": (lambda: tf.Mamba2ForCausalLM(tf.Mamba2Config(vocab_size=48, hidden_size=16, num_hidden_layers=2, num_heads=4, head_dim=8, state_size=6,
        n_groups=2, chunk_size=8, initializer_range=0.02)), f32),
    "mamba": (lambda: tf.MambaForCausalLM(tf.MambaConfig(vocab_size=48, hidden_size=16, num_hidden_layers=2, state_size=6)), f32),
    "falcon-mamba": (lambda: tf.FalconMambaForCausalLM(tf.FalconMambaConfig(vocab_size=48, hidden_size=16, num_hidden_layers=2, state_size=6, time_step_rank=3)), f32),
    "rwkv": (lambda: tf.RwkvForCausalLM(tf.RwkvConfig(vocab_size=48, context_length=32, hidden_size=16, num_hidden_layers=3,
        intermediate_size=24, rescale_every=2)), f32),
    "qwen3-next": (lambda: tf.Qwen3NextForCausalLM(tf.Qwen3NextConfig(**{**base, "num_hidden_layers": 3}, **kv, head_dim=8, num_experts=4, num_experts_per_tok=2,
        moe_intermediate_size=12, shared_expert_intermediate_size=20, mlp_only_layers=[1], full_attention_interval=3, linear_num_key_heads=2,
        linear_num_value_heads=4, linear_key_head_dim=6, linear_value_head_dim=4)), bf16),
    "gpt-oss": (lambda: tf.GptOssForCausalLM(tf.GptOssConfig(**base, **kv, head_dim=8, num_local_experts=4, num_experts_per_tok=2, sliding_window=5)), bf16),
    "gpt-oss-mxfp4": (lambda: tf.GptOssForCausalLM(tf.GptOssConfig(**{**base, "hidden_size": 32, "intermediate_size": 32}, **kv, head_dim=8, num_local_experts=3,
        num_experts_per_tok=2, sliding_window=5, rope_parameters={**yarn, "truncate": False})), bf16),
    "bert": (lambda: tf.BertModel(tf.BertConfig(**base)), f32),
    "bert-mlm": (lambda: tf.BertForMaskedLM(tf.BertConfig(**base)), f32),
    "distilbert": (lambda: tf.DistilBertModel(tf.DistilBertConfig(vocab_size=48, dim=16, n_layers=2, n_heads=4, hidden_dim=24, max_position_embeddings=32)), f32),
    "bert-classifier": (lambda: tf.BertForSequenceClassification(tf.BertConfig(**base, num_labels=3)), f32),
    "bert-tokens": (lambda: tf.BertForTokenClassification(tf.BertConfig(**base, num_labels=5)), f32),
    "bert-answer": (lambda: tf.BertForQuestionAnswering(tf.BertConfig(**base)), f32),
    "roberta": (lambda: tf.RobertaModel(tf.RobertaConfig(**base, type_vocab_size=1, pad_token_id=1)), f32),
    "roberta-classifier": (lambda: tf.RobertaForSequenceClassification(tf.RobertaConfig(**base, type_vocab_size=1, pad_token_id=1, num_labels=3)), f32),
    "xlm-roberta-tokens": (lambda: tf.XLMRobertaForTokenClassification(tf.XLMRobertaConfig(**base, type_vocab_size=1, pad_token_id=1, num_labels=5)), f32),
    "camembert": (lambda: tf.CamembertModel(tf.CamembertConfig(**base, type_vocab_size=1, pad_token_id=1)), f32),
    "electra": (lambda: tf.ElectraModel(tf.ElectraConfig(**base, embedding_size=8)), f32),
    "electra-classifier": (lambda: tf.ElectraForSequenceClassification(tf.ElectraConfig(**base, embedding_size=8, num_labels=3)), f32),
    "albert": (lambda: tf.AlbertModel(tf.AlbertConfig(**base, embedding_size=8)), f32),
    "albert-classifier": (lambda: tf.AlbertForSequenceClassification(tf.AlbertConfig(**base, embedding_size=8, num_labels=3)), f32),
    "distilbert-classifier": (lambda: tf.DistilBertForSequenceClassification(tf.DistilBertConfig(vocab_size=48, dim=16, n_layers=2, n_heads=4, hidden_dim=24, max_position_embeddings=32, num_labels=2)), f32),
    "mpnet": (lambda: tf.MPNetModel(tf.MPNetConfig(**base, pad_token_id=1)), f32),
    "mpnet-classifier": (lambda: tf.MPNetForSequenceClassification(tf.MPNetConfig(**base, pad_token_id=1, num_labels=3)), f32),
    "mpnet-tokens": (lambda: tf.MPNetForTokenClassification(tf.MPNetConfig(**base, pad_token_id=1, num_labels=5)), f32),
    "mpnet-answer": (lambda: tf.MPNetForQuestionAnswering(tf.MPNetConfig(**base, pad_token_id=1)), f32),
    "deberta": (lambda: tf.DebertaV2Model(tf.DebertaV2Config(**base, **deberta)), f32),
    "deberta-classifier": (lambda: tf.DebertaV2ForSequenceClassification(tf.DebertaV2Config(**base, **deberta, num_labels=3)), f32),
    "deberta-tokens": (lambda: tf.DebertaV2ForTokenClassification(tf.DebertaV2Config(**base, **deberta | dict(share_att_key=False, position_buckets=-1), num_labels=5)), f32),
    "modernbert": (lambda: tf.ModernBertModel(tf.ModernBertConfig(**four, local_attention=6, pad_token_id=0)), bf16),
    "modernbert-classifier": (lambda: tf.ModernBertForSequenceClassification(tf.ModernBertConfig(**four, local_attention=6, pad_token_id=0, num_labels=3,
        classifier_pooling="mean")), bf16),
    "deit": (lambda: tf.DeiTModel(tf.DeiTConfig(**vit)), f32),
    "deit-classifier": (lambda: tf.DeiTForImageClassification(tf.DeiTConfig(**vit, num_labels=5)), f32),
    "deit-teacher": (lambda: tf.DeiTForImageClassificationWithTeacher(tf.DeiTConfig(**vit, num_labels=5)), f32),
    "dinov2": (lambda: tf.Dinov2Model(tf.Dinov2Config(**no_inner(vit), layerscale_value=0.7)), f32),
    "dinov2-gated": (lambda: tf.Dinov2Model(tf.Dinov2Config(**no_inner(vit), use_swiglu_ffn=True)), f32),
    "dinov2-classifier": (lambda: tf.Dinov2ForImageClassification(tf.Dinov2Config(**no_inner(vit), num_labels=5)), f32),
    "vit": (lambda: tf.ViTModel(tf.ViTConfig(**vit), add_pooling_layer=True), f32),
    "vit-classifier": (lambda: tf.ViTForImageClassification(tf.ViTConfig(**vit, num_labels=5)), f32),
    "swin": (lambda: tf.SwinModel(tf.SwinConfig(**swin)), f32),
    "swin-classifier": (lambda: tf.SwinForImageClassification(tf.SwinConfig(**swin | dict(image_size=20, use_absolute_embeddings=True), num_labels=5)), f32),
    "beit": (lambda: tf.BeitModel(tf.BeitConfig(**vit, use_relative_position_bias=True, use_absolute_position_embeddings=True, use_mean_pooling=False)), f32),
    "beit-classifier": (lambda: tf.BeitForImageClassification(tf.BeitConfig(**vit, use_shared_relative_position_bias=True, num_labels=5)), f32),
    "clip": (lambda: tf.CLIPModel(tf.CLIPConfig(text_config=clip_text(base), vision_config=vit, projection_dim=8)), f32),
    "clip-text": (lambda: tf.CLIPTextModelWithProjection(tf.CLIPTextConfig(**clip_text(base), projection_dim=8)), f32),
    "clip-text-states": (lambda: tf.CLIPTextModel(tf.CLIPTextConfig(**clip_text(base))), f32),
    "clip-vision": (lambda: tf.CLIPVisionModelWithProjection(tf.CLIPVisionConfig(**vit, projection_dim=8)), f32),
    "clip-vision-states": (lambda: tf.CLIPVisionModel(tf.CLIPVisionConfig(**vit)), f32),
    "siglip": (lambda: tf.SiglipModel(tf.SiglipConfig(text_config=base, vision_config=vit)), f32),
    "siglip-text": (lambda: tf.SiglipTextModel(tf.SiglipTextConfig(**base)), f32),
    "siglip-vision": (lambda: tf.SiglipVisionModel(tf.SiglipVisionConfig(**vit)), f32),
    "whisper": (lambda: tf.WhisperForConditionalGeneration(tf.WhisperConfig(**sound(base))), f32),
    "whisper-speech": (lambda: tf.WhisperForConditionalGeneration(tf.WhisperConfig(**sound(base) | dict(max_source_positions=50))), f32),
    "bart": (lambda: tf.BartForConditionalGeneration(tf.BartConfig(**seq2seq(base))), bf16),
    "mbart": (lambda: tf.MBartForConditionalGeneration(tf.MBartConfig(**seq2seq(base, scale_embedding=True, activation_function="relu"))), f32),
    "marian": (lambda: tf.MarianMTModel(tf.MarianConfig(**seq2seq(base, decoder_vocab_size=48, scale_embedding=True, activation_function="swish"))), f32),
    "m2m100": (lambda: tf.M2M100ForConditionalGeneration(tf.M2M100Config(**seq2seq(base, scale_embedding=True, activation_function="relu"))), f32),
    "pegasus": (lambda: tf.PegasusForConditionalGeneration(tf.PegasusConfig(**seq2seq(base, activation_function="relu"))), f32),
    "t5": (lambda: tf.T5ForConditionalGeneration(tf.T5Config(**t5, tie_word_embeddings=True)), f32),
    "t5-gated": (lambda: tf.T5ForConditionalGeneration(tf.T5Config(**t5, feed_forward_proj="gated-gelu", num_decoder_layers=1, tie_word_embeddings=False)), f32),
    "mt5": (lambda: tf.MT5ForConditionalGeneration(tf.MT5Config(**t5)), bf16),
    "umt5": (lambda: tf.UMT5ForConditionalGeneration(tf.UMT5Config(**t5)), bf16),
    "t5-encoder": (lambda: tf.T5EncoderModel(tf.T5Config(**t5)), f32),
    "sentence": (lambda: tf.BertModel(tf.BertConfig(**base)), f32),
}

wide = dict(vocab_size=256, hidden_size=64, intermediate_size=176, num_hidden_layers=2, num_attention_heads=4, max_position_embeddings=128)
wide_vit = dict(hidden_size=64, intermediate_size=176, num_hidden_layers=2, num_attention_heads=4, image_size=32, patch_size=8)
wide_deberta = deberta | dict(position_buckets=16)
wide_deepseek = deepseek | dict(q_lora_rank=24, kv_lora_rank=24, qk_rope_head_dim=8, qk_nope_head_dim=16, v_head_dim=16, moe_intermediate_size=48)
wide_gemma3n = gemma3n | dict(vocab_size_per_layer_input=256, hidden_size_per_layer_input=24, laurel_rank=8, altup_num_inputs=4, layer_types=["sliding_attention", "full_attention"] * 2,
    activation_sparsity_pattern=[0.95, 0.0, 0.0, 0.8])
wide_swin = dict(embed_dim=32, depths=[2, 2], num_heads=[2, 4], window_size=4, image_size=32, patch_size=4)
wide_t5 = dict(vocab_size=256, d_model=64, d_kv=16, d_ff=176, num_layers=2, num_heads=4, decoder_start_token_id=0, initializer_factor=0.3)
wide_llama3 = {"rope_type": "llama3", "rope_theta": 500000.0, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 64}
outliers = {
    "gpt2": (lambda: tf.GPT2LMHeadModel(tf.GPT2Config(vocab_size=256, n_embd=64, n_layer=2, n_head=4, n_positions=128)), f32),
    "llama": (lambda: tf.LlamaForCausalLM(tf.LlamaConfig(**wide, **kv, rope_theta=500000.0)), bf16),
    "llama3-rope-scaling": (lambda: tf.LlamaForCausalLM(tf.LlamaConfig(**wide, **kv, rope_parameters=wide_llama3)), bf16),
    "mistral": (lambda: tf.MistralForCausalLM(tf.MistralConfig(**wide, **kv, sliding_window=16)), bf16),
    "qwen2": (lambda: tf.Qwen2ForCausalLM(tf.Qwen2Config(**wide, **kv, tie_word_embeddings=True)), bf16),
    "qwen3": (lambda: tf.Qwen3ForCausalLM(tf.Qwen3Config(**wide, **kv, head_dim=32)), bf16),
    "qwen3-moe": (lambda: tf.Qwen3MoeForCausalLM(tf.Qwen3MoeConfig(**wide, **kv, head_dim=16, num_experts=4, num_experts_per_tok=2,
        moe_intermediate_size=64, norm_topk_prob=True, decoder_sparse_step=1)), bf16),
    "mixtral": (lambda: tf.MixtralForCausalLM(tf.MixtralConfig(**wide, **kv, num_local_experts=4, num_experts_per_tok=2, sliding_window=None)), bf16),
    "gemma2": (lambda: tf.Gemma2ForCausalLM(tf.Gemma2Config(**wide, **kv, head_dim=16, sliding_window=16, query_pre_attn_scalar=16)), bf16),
    "gemma3": (lambda: tf.Gemma3ForCausalLM(tf.Gemma3TextConfig(**wide, **kv, head_dim=16, sliding_window=16, query_pre_attn_scalar=16)), bf16),
    "gemma3n": (lambda: tf.Gemma3nForCausalLM(tf.Gemma3nTextConfig(**{**wide, "num_hidden_layers": 4}, **kv, **wide_gemma3n, head_dim=16, sliding_window=16)), bf16),
    "phi3": (lambda: tf.Phi3ForCausalLM(tf.Phi3Config(**wide, **kv, pad_token_id=0, bos_token_id=1, eos_token_id=2)), bf16),
    "olmo2": (lambda: tf.Olmo2ForCausalLM(tf.Olmo2Config(**wide, **kv)), bf16),
    "gpt-neox": (lambda: tf.GPTNeoXForCausalLM(tf.GPTNeoXConfig(**wide)), f16),
    "gemma": (lambda: tf.GemmaForCausalLM(tf.GemmaConfig(**wide, **kv, head_dim=16)), bf16),
    "granite": (lambda: tf.GraniteForCausalLM(tf.GraniteConfig(**wide, **kv, embedding_multiplier=3.0, residual_multiplier=0.4, attention_multiplier=0.2,
        logits_scaling=4.0, tie_word_embeddings=True)), bf16),
    "cohere": (lambda: tf.CohereForCausalLM(tf.CohereConfig(**wide, **kv, use_qk_norm=True)), bf16),
    "cohere2": (lambda: tf.Cohere2ForCausalLM(tf.Cohere2Config(**{**wide, "num_hidden_layers": 4}, **kv, head_dim=16, sliding_window=16)), bf16),
    "smollm3": (lambda: tf.SmolLM3ForCausalLM(tf.SmolLM3Config(**{**wide, "num_hidden_layers": 4}, **kv, pad_token_id=0)), bf16),
    "olmo": (lambda: tf.OlmoForCausalLM(tf.OlmoConfig(**wide, **kv, clip_qkv=8.0)), bf16),
    "olmo3": (lambda: tf.Olmo3ForCausalLM(tf.Olmo3Config(**{**wide, "num_hidden_layers": 4}, **kv, sliding_window=16)), bf16),
    "starcoder2": (lambda: tf.Starcoder2ForCausalLM(tf.Starcoder2Config(**wide, **kv, sliding_window=16)), bf16),
    "stablelm": (lambda: tf.StableLmForCausalLM(tf.StableLmConfig(**wide, **kv, use_qkv_bias=True, qk_layernorm=True)), bf16),
    "stablelm-parallel": (lambda: tf.StableLmForCausalLM(tf.StableLmConfig(**wide, num_key_value_heads=4, use_parallel_residual=True)), f16),
    "phi": (lambda: tf.PhiForCausalLM(tf.PhiConfig(**wide)), f16),
    "nemotron": (lambda: tf.NemotronForCausalLM(tf.NemotronConfig(**wide, **kv)), bf16),
    "glm": (lambda: tf.GlmForCausalLM(tf.GlmConfig(**wide, **kv, head_dim=16, attention_bias=True, pad_token_id=0)), bf16),
    "glm4": (lambda: tf.Glm4ForCausalLM(tf.Glm4Config(**wide, **kv, head_dim=16, pad_token_id=0)), bf16),
    "qwen2-moe": (lambda: tf.Qwen2MoeForCausalLM(tf.Qwen2MoeConfig(**wide, **kv, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=64,
        shared_expert_intermediate_size=96)), bf16),
    "opt": (lambda: tf.OPTForCausalLM(tf.OPTConfig(vocab_size=256, hidden_size=64, num_hidden_layers=2, ffn_dim=176, max_position_embeddings=128,
        num_attention_heads=4)), f16),
    "bloom": (lambda: tf.BloomForCausalLM(tf.BloomConfig(vocab_size=256, hidden_size=64, n_layer=2, n_head=4, seq_length=128)), f16),
    "falcon": (lambda: tf.FalconForCausalLM(tf.FalconConfig(vocab_size=256, hidden_size=64, num_hidden_layers=2, num_attention_heads=4,
        max_position_embeddings=128)), bf16),
    "falcon-new": (lambda: tf.FalconForCausalLM(tf.FalconConfig(vocab_size=256, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, num_kv_heads=2,
        new_decoder_architecture=True, max_position_embeddings=128)), bf16),
    "gptj": (lambda: tf.GPTJForCausalLM(tf.GPTJConfig(vocab_size=256, n_embd=64, n_layer=2, n_head=4, n_positions=128, rotary_dim=8)), f16),
    "gpt-neo": (lambda: tf.GPTNeoForCausalLM(tf.GPTNeoConfig(vocab_size=256, hidden_size=64, num_layers=2, num_heads=4, max_position_embeddings=128,
        attention_types=[[["global", "local"], 1]], window_size=16)), f32),
    "deepseek-v2": (lambda: tf.DeepseekV2ForCausalLM(tf.DeepseekV2Config(**wide, **wide_deepseek, topk_method="group_limited_greedy", routed_scaling_factor=1.5)), bf16),
    "deepseek-v2-lite": (lambda: tf.DeepseekV2ForCausalLM(tf.DeepseekV2Config(**wide, **wide_deepseek | dict(q_lora_rank=None, n_group=1, topk_group=1), rope_parameters=yarn_all)), bf16),
    "deepseek-v3": (lambda: tf.DeepseekV3ForCausalLM(tf.DeepseekV3Config(**wide, **wide_deepseek, num_key_value_heads=4)), bf16),
    "mamba2": (lambda: tf.Mamba2ForCausalLM(tf.Mamba2Config(vocab_size=256, hidden_size=64, num_hidden_layers=2, num_heads=4, head_dim=32, state_size=16,
        n_groups=2, chunk_size=8, initializer_range=0.02)), f32),
    "mamba": (lambda: tf.MambaForCausalLM(tf.MambaConfig(vocab_size=256, hidden_size=64, num_hidden_layers=2, state_size=8, initializer_range=0.02)), f32),
    "falcon-mamba": (lambda: tf.FalconMambaForCausalLM(tf.FalconMambaConfig(vocab_size=256, hidden_size=64, num_hidden_layers=2, state_size=8, initializer_range=0.02)), f32),
    "rwkv": (lambda: tf.RwkvForCausalLM(tf.RwkvConfig(vocab_size=256, context_length=128, hidden_size=64, num_hidden_layers=2,
        intermediate_size=176, rescale_every=6)), f32),
    "qwen3-next": (lambda: tf.Qwen3NextForCausalLM(tf.Qwen3NextConfig(**{**wide, "num_hidden_layers": 3}, **kv, head_dim=16, num_experts=4, num_experts_per_tok=2,
        moe_intermediate_size=64, shared_expert_intermediate_size=96, mlp_only_layers=[0, 1], full_attention_interval=3, linear_num_key_heads=2,
        linear_num_value_heads=4, linear_key_head_dim=16, linear_value_head_dim=16)), bf16),
    "gpt-oss": (lambda: tf.GptOssForCausalLM(tf.GptOssConfig(**wide, **kv, head_dim=16, num_local_experts=4, num_experts_per_tok=2, sliding_window=16)), bf16),
    "gpt-oss-mxfp4": (lambda: tf.GptOssForCausalLM(tf.GptOssConfig(**{**wide, "intermediate_size": 96}, **kv, head_dim=16, num_local_experts=4, num_experts_per_tok=2,
        sliding_window=16, rope_parameters={**yarn, "truncate": False})), bf16),
    "bert": (lambda: tf.BertModel(tf.BertConfig(**wide)), f32),
    "distilbert": (lambda: tf.DistilBertModel(tf.DistilBertConfig(vocab_size=256, dim=64, n_layers=2, n_heads=4, hidden_dim=176, max_position_embeddings=128)), f32),
    "bert-classifier": (lambda: tf.BertForSequenceClassification(tf.BertConfig(**wide, num_labels=3)), f32),
    "bert-tokens": (lambda: tf.BertForTokenClassification(tf.BertConfig(**wide, num_labels=5)), f32),
    "bert-answer": (lambda: tf.BertForQuestionAnswering(tf.BertConfig(**wide)), f32),
    "roberta": (lambda: tf.RobertaModel(tf.RobertaConfig(**wide, type_vocab_size=1, pad_token_id=1)), f32),
    "roberta-classifier": (lambda: tf.RobertaForSequenceClassification(tf.RobertaConfig(**wide, type_vocab_size=1, pad_token_id=1, num_labels=3)), f32),
    "xlm-roberta-tokens": (lambda: tf.XLMRobertaForTokenClassification(tf.XLMRobertaConfig(**wide, type_vocab_size=1, pad_token_id=1, num_labels=5)), f32),
    "camembert": (lambda: tf.CamembertModel(tf.CamembertConfig(**wide, type_vocab_size=1, pad_token_id=1)), f32),
    "electra": (lambda: tf.ElectraModel(tf.ElectraConfig(**wide, embedding_size=32)), f32),
    "electra-classifier": (lambda: tf.ElectraForSequenceClassification(tf.ElectraConfig(**wide, embedding_size=32, num_labels=3)), f32),
    "albert": (lambda: tf.AlbertModel(tf.AlbertConfig(**wide, embedding_size=32)), f32),
    "albert-classifier": (lambda: tf.AlbertForSequenceClassification(tf.AlbertConfig(**wide, embedding_size=32, num_labels=3)), f32),
    "distilbert-classifier": (lambda: tf.DistilBertForSequenceClassification(tf.DistilBertConfig(vocab_size=256, dim=64, n_layers=2, n_heads=4, hidden_dim=176, max_position_embeddings=128, num_labels=2)), f32),
    "mpnet": (lambda: tf.MPNetModel(tf.MPNetConfig(**wide, pad_token_id=1)), f32),
    "mpnet-classifier": (lambda: tf.MPNetForSequenceClassification(tf.MPNetConfig(**wide, pad_token_id=1, num_labels=3)), f32),
    "mpnet-tokens": (lambda: tf.MPNetForTokenClassification(tf.MPNetConfig(**wide, pad_token_id=1, num_labels=5)), f32),
    "mpnet-answer": (lambda: tf.MPNetForQuestionAnswering(tf.MPNetConfig(**wide, pad_token_id=1)), f32),
    "deberta": (lambda: tf.DebertaV2Model(tf.DebertaV2Config(**wide, **wide_deberta)), f32),
    "deberta-classifier": (lambda: tf.DebertaV2ForSequenceClassification(tf.DebertaV2Config(**wide, **wide_deberta, num_labels=3)), f32),
    "deberta-tokens": (lambda: tf.DebertaV2ForTokenClassification(tf.DebertaV2Config(**wide, **wide_deberta | dict(share_att_key=False, position_buckets=-1), num_labels=5)), f32),
    "modernbert": (lambda: tf.ModernBertModel(tf.ModernBertConfig(**{**wide, "num_hidden_layers": 4}, local_attention=16, pad_token_id=0)), bf16),
    "modernbert-classifier": (lambda: tf.ModernBertForSequenceClassification(tf.ModernBertConfig(**{**wide, "num_hidden_layers": 4}, local_attention=16, pad_token_id=0, num_labels=3,
        classifier_pooling="mean")), bf16),
    "deit": (lambda: tf.DeiTModel(tf.DeiTConfig(**wide_vit)), f32),
    "deit-classifier": (lambda: tf.DeiTForImageClassification(tf.DeiTConfig(**wide_vit, num_labels=5)), f32),
    "deit-teacher": (lambda: tf.DeiTForImageClassificationWithTeacher(tf.DeiTConfig(**wide_vit, num_labels=5)), f32),
    "dinov2": (lambda: tf.Dinov2Model(tf.Dinov2Config(**no_inner(wide_vit), layerscale_value=0.7)), f32),
    "dinov2-gated": (lambda: tf.Dinov2Model(tf.Dinov2Config(**no_inner(wide_vit), use_swiglu_ffn=True)), f32),
    "dinov2-classifier": (lambda: tf.Dinov2ForImageClassification(tf.Dinov2Config(**no_inner(wide_vit), num_labels=5)), f32),
    "swin": (lambda: tf.SwinModel(tf.SwinConfig(**wide_swin)), f32),
    "swin-classifier": (lambda: tf.SwinForImageClassification(tf.SwinConfig(**wide_swin | dict(image_size=40, use_absolute_embeddings=True), num_labels=10)), f32),
    "beit": (lambda: tf.BeitModel(tf.BeitConfig(**wide_vit, use_relative_position_bias=True, use_absolute_position_embeddings=True, use_mean_pooling=False)), f32),
    "beit-classifier": (lambda: tf.BeitForImageClassification(tf.BeitConfig(**wide_vit, use_shared_relative_position_bias=True, num_labels=10)), f32),
    "clip": (lambda: tf.CLIPModel(tf.CLIPConfig(text_config=clip_text(wide), vision_config=wide_vit, projection_dim=32)), f32),
    "clip-text": (lambda: tf.CLIPTextModelWithProjection(tf.CLIPTextConfig(**clip_text(wide), projection_dim=32)), f32),
    "clip-text-states": (lambda: tf.CLIPTextModel(tf.CLIPTextConfig(**clip_text(wide))), f32),
    "clip-vision": (lambda: tf.CLIPVisionModelWithProjection(tf.CLIPVisionConfig(**wide_vit, projection_dim=32)), f32),
    "clip-vision-states": (lambda: tf.CLIPVisionModel(tf.CLIPVisionConfig(**wide_vit)), f32),
    "siglip": (lambda: tf.SiglipModel(tf.SiglipConfig(text_config=wide, vision_config=wide_vit)), f32),
    "siglip-text": (lambda: tf.SiglipTextModel(tf.SiglipTextConfig(**wide)), f32),
    "siglip-vision": (lambda: tf.SiglipVisionModel(tf.SiglipVisionConfig(**wide_vit)), f32),
    "whisper": (lambda: tf.WhisperForConditionalGeneration(tf.WhisperConfig(**sound(wide))), f32),
    "whisper-speech": (lambda: tf.WhisperForConditionalGeneration(tf.WhisperConfig(**sound(wide) | dict(max_source_positions=50, num_mel_bins=20))), f32),
    "bart": (lambda: tf.BartForConditionalGeneration(tf.BartConfig(**seq2seq(wide))), bf16),
    "mbart": (lambda: tf.MBartForConditionalGeneration(tf.MBartConfig(**seq2seq(wide, scale_embedding=True, activation_function="relu"))), f32),
    "marian": (lambda: tf.MarianMTModel(tf.MarianConfig(**seq2seq(wide, decoder_vocab_size=256, scale_embedding=True, activation_function="swish"))), f32),
    "m2m100": (lambda: tf.M2M100ForConditionalGeneration(tf.M2M100Config(**seq2seq(wide, scale_embedding=True, activation_function="relu"))), f32),
    "pegasus": (lambda: tf.PegasusForConditionalGeneration(tf.PegasusConfig(**seq2seq(wide, activation_function="relu"))), f32),
    "t5": (lambda: tf.T5ForConditionalGeneration(tf.T5Config(**wide_t5, tie_word_embeddings=True)), f32),
    "t5-gated": (lambda: tf.T5ForConditionalGeneration(tf.T5Config(**wide_t5, feed_forward_proj="gated-gelu", tie_word_embeddings=False)), bf16),
    "mt5": (lambda: tf.MT5ForConditionalGeneration(tf.MT5Config(**wide_t5)), bf16),
    "umt5": (lambda: tf.UMT5ForConditionalGeneration(tf.UMT5Config(**wide_t5)), bf16),
    "t5-encoder": (lambda: tf.T5EncoderModel(tf.T5Config(**wide_t5)), f32),
    "vit": (lambda: tf.ViTModel(tf.ViTConfig(**wide_vit), add_pooling_layer=True), f32),
    "vit-classifier": (lambda: tf.ViTForImageClassification(tf.ViTConfig(**wide_vit, num_labels=10)), f32),
}


def disturb(model):
    """Weights of the size of trained ones, with a few large channels."""
    grow = 1 if type(model).__name__.startswith(("Siglip", "CLIP", "Rwkv", "Mamba", "FalconMamba")) else 8  # whose weights begin so large
    with torch.no_grad():
        for name, p in model.named_parameters():
            if p.dim() == 2 and any(s in name for s in ("embed", "wte")):
                p.mul_(10)
                p[:, 3] *= 8
            elif name.endswith("A_log"):  # of which the exponentials are rates
                p.add_(0.2 * torch.randn_like(p))
            elif p.dim() >= 2:
                p.mul_(grow)
            else:
                p.add_(0.2 * torch.randn_like(p))


def add_outliers(model):
    """Two channels of the embeddings are far larger than the others, as is the embedding of token 0."""
    with torch.no_grad():
        for name, p in model.named_parameters():
            if p.dim() == 2 and any(s in name for s in ("embed", "wte")):
                p.mul_(3)
                p[:, 3] *= 40
                p[:, 17] *= 25
                p[0] *= 20
            elif name.endswith("A_log"):  # of which the exponentials are rates
                p.add_(0.05 * torch.randn_like(p))
            elif p.dim() >= 2:
                p.mul_(4)
            else:
                p.add_((0.3 if "norm" in name.lower() or "ln_" in name else 0.05) * torch.randn_like(p))


def outputs_of(name, o):
    """The outputs that models of this name have here, in order, without the axis of a batch of one."""
    if name in ("clip", "siglip"):
        return torch.cat([o[k].flatten() for k in ("logits_per_image", "text_embeds", "image_embeds")])
    if name.startswith("siglip-"):
        return o["pooler_output"][0]
    if "start_logits" in o:
        return torch.cat([o["start_logits"][0], o["end_logits"][0]])
    return next(o[k] for k in ("logits", "image_embeds", "text_embeds", "last_hidden_state") if k in o)[0]


def mxfp4(d):
    """Stores the experts of a folder's GPT-OSS in blocks of 32 numbers of 4 bits, as published ones are. Returns the weights that these stand for."""
    values = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6])
    stored, real = {}, {}
    for name, t in load_file(d / "model.safetensors").items():
        if not name.endswith(("experts.gate_up_proj", "experts.down_proj")):
            stored[name] = t
            continue
        x = t.float().transpose(1, 2)  # experts, outputs, inputs
        x = x.reshape(*x.shape[:2], -1, 32)
        scale = torch.floor(torch.log2(x.abs().amax(-1, keepdim=True))) - 2
        code = (x.abs() / 2**scale).unsqueeze(-1).sub(values).abs().argmin(-1)
        real[name] = (x.sign() * values[code] * 2**scale).flatten(2).transpose(1, 2)
        code = (code + 8 * (x < 0)).to(torch.uint8)
        stored[name + "_blocks"] = code[..., 0::2] | code[..., 1::2] << 4
        stored[name + "_scales"] = (scale.squeeze(-1) + 127).to(torch.uint8)
    save_file({k: v.contiguous() for k, v in stored.items()}, d / "model.safetensors", {"format": "pt"})
    c = json.loads((d / "config.json").read_text())
    c["quantization_config"] = {"quant_method": "mxfp4", "modules_to_not_convert": ["model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens", "lm_head"]}
    (d / "config.json").write_text(json.dumps(c, indent=2) + "\n")
    return real


def make(name, out, large):
    build, dtype = (outliers if large else models)[name]
    d = out / name
    m = build().eval()
    (add_outliers if large else disturb)(m)
    for bias in (b for k, b in m.named_buffers() if k.endswith("e_score_correction_bias")):
        bias.copy_(0.3 * torch.randn_like(bias))
    m.to(dtype).save_pretrained(d, **({"max_shard_size": "8KB"} if name == "qwen3" else {}))
    m = type(m).from_pretrained(d, dtype=f32, attn_implementation="sdpa" if name == "falcon-alibi" else "eager").eval()  # eager adds ALiBi twice
    if name.endswith("-mxfp4"):
        m.load_state_dict(mxfp4(d), strict=False)
    gen = torch.Generator().manual_seed(3)
    case = {}
    config = getattr(m.config, "vision_config", m.config)
    args = {}
    if hasattr(config, "image_size"):
        side = config.image_size
        x = torch.rand((1, 3, side, side), generator=gen)
        case["pixel_values"] = [float(v) for v in x.flatten()]
        args = dict(pixel_values=x)
    samples = None
    if name.startswith("whisper"):
        x = torch.randn((1, m.config.num_mel_bins, 2 * m.config.max_source_positions), generator=gen)
        answer = torch.cat([torch.tensor([[m.config.decoder_start_token_id]]), torch.randint(0, m.config.vocab_size, (1, 8), generator=gen)], 1)
        if name == "whisper-speech":
            samples, x = speech(m, d, gen)
            answer[0, :4] = torch.tensor([m.config.decoder_start_token_id, 5, 8, 9])
            case["audio"] = "audio.wav"
        else:
            case["input_features"] = [float(v) for v in x.flatten()]
        case["decoder_input_ids"] = answer[0].tolist()
        args = dict(input_features=x, decoder_input_ids=answer)
    elif name in ("clip", "siglip"):
        texts = torch.randint(0, 256 if large else 48, (3, 10), generator=gen)
        texts[:, 7] = texts[:, 9] = m.config.text_config.eos_token_id if name == "clip" else 1
        case["input_ids"], case["texts"] = texts.flatten().tolist(), 3
        args["input_ids"] = texts
    elif not args:
        ids = torch.randint(0, 256, (1, 24), generator=gen) if large else torch.randint(0, 48, (1, 12), generator=gen)
        if name == "clip-text":
            ids[0, 8] = ids[0, -1] = m.config.eos_token_id
        case["input_ids"] = ids[0].tolist()
        args = dict(input_ids=ids)
        if m.config.is_encoder_decoder and hasattr(m, "generate"):
            answer = torch.cat([torch.tensor([[m.config.decoder_start_token_id]]), torch.randint(0, ids.max() + 1, (1, 8 if large else 6), generator=gen)], 1)
            case["decoder_input_ids"] = answer[0].tolist()
            args["decoder_input_ids"] = answer
    with torch.no_grad():
        if name == "bert-mlm":
            o = m.bert(**args)
        else:
            o = m(**args)
    y = outputs_of(name, o)
    if name == "sentence":
        (d / "modules.json").write_text(json.dumps([
            {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
            {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
            {"idx": 2, "name": "2", "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"}], indent=2) + "\n")
        (d / "1_Pooling").mkdir(exist_ok=True)
        (d / "1_Pooling/config.json").write_text(json.dumps({"word_embedding_dimension": 16, "pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True}) + "\n")
        y = torch.nn.functional.normalize(y.mean(0), dim=-1)
    np.save(d / "expected.npy", y.numpy().astype(np.float32))
    (d / "expected.json").write_text(json.dumps(case) + "\n")
    if samples is not None:
        whole = m.generate(args["input_features"], language="en", max_new_tokens=8, do_sample=False)[0].tolist()  # perhaps several times, and without ends
        g = tf.GenerationMixin.generate(m, args["input_features"], decoder_input_ids=answer[:, :4], max_new_tokens=8, do_sample=False, eos_token_id=None)[0, 4:].tolist()
        assert whole[:4] == g[:4]
        (d / "greedy.json").write_text(json.dumps({"audio": "audio.wav", "language": "en", "tokens": g}) + "\n")
        return
    (d / "generation_config.json").unlink(missing_ok=True)
    if large and hasattr(m, "generate") and name != "whisper":
        prompt = ids[:, :8]
        every = torch.ones_like(prompt)  # token 0 is no padding
        g = m.generate(prompt, attention_mask=every, max_new_tokens=8, do_sample=False, eos_token_id=None, pad_token_id=0)
        text = {"prompt": prompt[0].tolist(), "attention_mask": every[0].tolist(), "tokens": g[0, -8:].tolist()}
        (d / "greedy.json").write_text(json.dumps(text) + "\n")


# Models that are written as GGUF files too, NAME-gguf, and whether the two elements of a rotary pair are neighbours there, in the rows of queries and keys.
ggufs = {"llama": True}


def make_gguf(out, model, turned):
    """A model as llama.cpp's converter writes it, with names of its own for tensors."""
    src, d = out / model, out / f"{model}-gguf"
    d.mkdir(exist_ok=True)
    c = json.loads((src / "config.json").read_text())
    w = gguf.GGUFWriter(d / "model.gguf", c["model_type"])
    w.add_context_length(c["max_position_embeddings"])
    w.add_embedding_length(c["hidden_size"])
    w.add_block_count(c["num_hidden_layers"])
    w.add_feed_forward_length(c["intermediate_size"])
    w.add_head_count(c["num_attention_heads"])
    w.add_head_count_kv(c["num_key_value_heads"])
    w.add_layer_norm_rms_eps(c["rms_norm_eps"])
    w.add_rope_freq_base(c["rope_parameters"]["rope_theta"])
    w.add_rope_dimension_count(c["head_dim"])
    w.add_vocab_size(c["vocab_size"])
    names = {"embed_tokens": "token_embd", "norm": "output_norm", "lm_head": "output", "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm",
             "q_proj": "attn_q", "k_proj": "attn_k", "v_proj": "attn_v", "o_proj": "attn_output", "gate_proj": "ffn_gate", "up_proj": "ffn_up", "down_proj": "ffn_down"}
    for name, t in load_file(src / "model.safetensors").items():
        t = t.float().numpy()
        part = name.split(".")
        heads = {"q_proj": c["num_attention_heads"], "k_proj": c["num_key_value_heads"]}.get(part[-2])
        if heads and turned:
            t = t.reshape(heads, 2, t.shape[0] // heads // 2, t.shape[1]).swapaxes(1, 2).reshape(t.shape)
        prefix = f"blk.{part[2]}." if part[1] == "layers" else ""
        w.add_tensor(f"{prefix}{names[part[-2]]}.{part[-1]}", np.ascontiguousarray(t))
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()
    for f in ("expected.json", "expected.npy"):
        (d / f).write_bytes((src / f).read_bytes())


def main():
    a = argparse.ArgumentParser()
    a.add_argument("out", nargs="?", default=Path(__file__).resolve().parents[2] / "hf/testdata", type=Path)
    a.add_argument("names", nargs="*")
    a.add_argument("--seed", type=int, default=11)
    a.add_argument("--outliers", action="store_true")
    a = a.parse_args()
    for name in a.names or (outliers if a.outliers else models):
        torch.manual_seed(a.seed)
        make(name, a.out, a.outliers)
        if name in ggufs and not a.outliers:
            make_gguf(a.out, name, ggufs[name])


if __name__ == "__main__":
    main()
