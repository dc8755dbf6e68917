#!/usr/bin/env python3
"""Makes the static embedding table from a sentence transformer and WordNet. See README.md."""

import argparse
import pathlib
import random
import re
import struct

import numpy as np
import torch
from transformers import AutoModel, AutoTokenizer

DIMS = 256
TEXTS = 32_000
VALIDATION = 1_000
SEED = 20261115


def teacher(model_dir):
    tokenizer = AutoTokenizer.from_pretrained(model_dir, local_files_only=True)
    model = AutoModel.from_pretrained(model_dir, local_files_only=True).eval()
    return tokenizer, model


@torch.no_grad()
def pooled(model, ids, mask):
    """Mean over the sequence: how this model makes a sentence vector."""
    hidden = model(input_ids=ids, attention_mask=mask).last_hidden_state
    weight = mask.unsqueeze(-1).float()
    return ((hidden * weight).sum(1) / weight.sum(1)).numpy()


def token_vectors(tokenizer, model, batch=512):
    rows = []
    for start in range(0, len(tokenizer), batch):
        ids = torch.arange(start, min(start + batch, len(tokenizer))).unsqueeze(1)
        ends = torch.ones_like(ids)
        ids = torch.cat([ends * tokenizer.cls_token_id, ids, ends * tokenizer.sep_token_id], dim=1)
        rows.append(pooled(model, ids, torch.ones_like(ids)))
    return np.concatenate(rows)


def wordnet_texts(directory):
    """Glosses and examples, each once. A gloss is sometimes preceded by its word, as notes are."""
    chosen = random.Random(SEED)
    texts = {}
    for part in ("noun", "verb", "adj", "adv"):
        for line in (pathlib.Path(directory) / f"data.{part}").read_text("latin-1").splitlines():
            if line.startswith("  ") or " | " not in line:
                continue
            head, gloss = line.split(" | ", 1)
            word = head.split()[4].replace("_", " ")
            definition = re.sub(r'"[^"]*"', "", gloss).strip(" ;")
            if definition:
                texts[chosen.choice([definition, f"{word}: {definition}"])] = None
            for example in re.findall(r'"([^"]{12,})"', gloss):
                texts[example] = None
    texts = list(texts)
    chosen.shuffle(texts)
    return texts[:TEXTS]


def teacher_vectors(tokenizer, model, texts, batch=64):
    order = sorted(range(len(texts)), key=lambda at: len(texts[at]))  # little padding
    out = np.zeros((len(texts), model.config.hidden_size), np.float32)
    for start in range(0, len(order), batch):
        at = order[start : start + batch]
        made = tokenizer([texts[i] for i in at], padding=True, truncation=True, max_length=128, return_tensors="pt")
        out[at] = pooled(model, made["input_ids"], made["attention_mask"])
    return out / np.linalg.norm(out, axis=1, keepdims=True)


def start_table(tokens, sentences):
    """Tokens on the sentences' principal axes, common ones made small."""
    _, _, axes = np.linalg.svd(sentences - sentences.mean(0), full_matrices=False)
    table = (tokens - tokens.mean(0)) @ axes[:DIMS].T
    # The vocabulary is sorted by frequency: by Zipf's law the rank gives the probability, and SIF the weight.
    probability = 1.0 / (np.arange(len(table)) + 2.0)
    probability /= probability.sum()
    return (table * (1e-3 / (1e-3 + probability))[:, None]).astype(np.float32), axes[:DIMS]


def regress(table, ids, target, epochs=12, batch=1024):
    torch.manual_seed(SEED)
    first = torch.tensor(table)
    # Rows are scaled so that the penalty and the rate mean the same for every model.
    first = first / first.norm(dim=1).mean()
    bag = torch.nn.EmbeddingBag.from_pretrained(first.clone(), freeze=False, mode="sum")
    optimiser = torch.optim.Adam(bag.parameters(), lr=2e-3)
    target = torch.nn.functional.normalize(torch.tensor(target), dim=1)

    def embed(at):
        lengths = torch.tensor([len(ids[i]) for i in at])
        offsets = torch.cumsum(lengths, 0) - lengths
        flat = torch.tensor([token for i in at for token in ids[i]])
        return torch.nn.functional.normalize(bag(flat, offsets), dim=1)

    train = np.arange(len(ids) - VALIDATION)
    held = np.arange(len(ids) - VALIDATION, len(ids))
    best, kept = -1.0, first
    for epoch in range(epochs):
        order = torch.randperm(len(train)).numpy()
        for start in range(0, len(order), batch):
            at = train[order[start : start + batch]]
            got, want = embed(at), target[at]
            loss = (1 - (got * want).sum(1)).mean()
            loss = loss + 5 * ((got @ got.T - want @ want.T) ** 2).mean()
            loss = loss + 0.02 * ((bag.weight - first) ** 2).sum(1).mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        with torch.no_grad():
            score = (embed(held) * target[held]).sum(1).mean().item()
        print(f"epoch {epoch + 1}: validation cosine {score:.4f}")
        if score <= best:
            break
        best, kept = score, bag.weight.detach().clone()
    return kept.numpy()


def write_table(path, table):
    scale = np.maximum(np.abs(table).max(1), 1e-12) / 127
    # The reader keeps scales in units of 2^-22 as i16; the direction of a sum does not depend on their common factor.
    scale = (scale * (0.0043 / scale.max())).astype("<f4")
    largest = np.abs(table).max(1, keepdims=True)
    codes = np.rint(table / np.maximum(largest, 1e-12) * 127).astype(np.int8)
    with open(path, "wb") as out:
        out.write(struct.pack("<II", *codes.shape))
        out.write(scale.tobytes())
        out.write(codes.tobytes())


def kept(path, make):
    """What a step made, or what it made last time."""
    if not path.exists():
        np.save(path, make())
    return np.load(path)


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    for name in ("model", "wordnet", "work", "out"):
        arguments.add_argument(f"--{name}", required=True, type=pathlib.Path)
    arguments = arguments.parse_args()
    work = arguments.work
    work.mkdir(parents=True, exist_ok=True)
    tokenizer, model = teacher(arguments.model)
    tokens = kept(work / "tokens.npy", lambda: token_vectors(tokenizer, model))
    corpus = work / "corpus.txt"
    if not corpus.exists():
        corpus.write_text("\n".join(wordnet_texts(arguments.wordnet)) + "\n")
    texts = corpus.read_text().splitlines()
    sentences = kept(work / "teacher.npy", lambda: teacher_vectors(tokenizer, model, texts))
    table, axes = start_table(tokens, sentences)
    ids = tokenizer(texts, add_special_tokens=False)["input_ids"]
    table = regress(table, ids, (sentences - sentences.mean(0)) @ axes.T)
    write_table(arguments.out, table)


if __name__ == "__main__":
    main()
