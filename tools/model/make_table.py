#!/usr/bin/env python3
"""Makes the static embedding table from a sentence transformer and WordNet. See README.md."""

import argparse
import json
import pathlib
import random
import re
import struct

import numpy as np
from safetensors.numpy import load_file
from tokenizers import BertWordPieceTokenizer

DIMS = 256
TEXTS = 32_000
VALIDATION = 1_000
SEED = 20261115
TOKENS_MAX = 128


class Teacher:
    """The transformer's forward pass, in numpy: a runtime would be a hundred times the size of what it runs."""

    def __init__(self, directory):
        self.sizes = json.loads((directory / "config.json").read_text())
        weights = load_file(directory / "model.safetensors")
        self.weights = {name.removeprefix("bert."): value.astype(np.float32) for name, value in weights.items()}
        self.tokenizer = BertWordPieceTokenizer(str(directory / "vocab.txt"), lowercase=True)
        self.first, self.last = (self.tokenizer.token_to_id(token) for token in ("[CLS]", "[SEP]"))

    def __len__(self):
        return self.sizes["vocab_size"]

    def ids(self, texts):
        """Without the special tokens."""
        return [made.ids for made in self.tokenizer.encode_batch(texts, add_special_tokens=False)]

    def linear(self, x, name):
        return x @ self.weights[name + ".weight"].T + self.weights[name + ".bias"]

    def norm(self, x, name):
        x = x - x.mean(-1, keepdims=True)
        x /= np.sqrt((x * x).mean(-1, keepdims=True) + self.sizes["layer_norm_eps"])
        return x * self.weights[name + ".weight"] + self.weights[name + ".bias"]

    def pooled(self, sequences):
        """Mean over the sequence: how this model makes a sentence vector."""
        longest = max(map(len, sequences))
        ids = np.zeros((len(sequences), longest), np.int64)
        mask = np.zeros((len(sequences), longest), np.float32)
        for row, sequence in enumerate(sequences):
            ids[row, : len(sequence)] = sequence
            mask[row, : len(sequence)] = 1
        w, heads = self.weights, self.sizes["num_attention_heads"]
        x = w["embeddings.word_embeddings.weight"][ids] + w["embeddings.position_embeddings.weight"][:longest]
        x = self.norm(x + w["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
        shape = (len(sequences), longest, heads, -1)
        hidden = np.where(mask[:, None, None, :] > 0, 0, -1e9).astype(np.float32)
        for layer in range(self.sizes["num_hidden_layers"]):
            p = f"encoder.layer.{layer}."
            parts = (self.linear(x, p + "attention.self." + part) for part in ("query", "key", "value"))
            q, k, v = (part.reshape(shape).transpose(0, 2, 1, 3) for part in parts)
            scores = q @ k.transpose(0, 1, 3, 2) / np.float32(np.sqrt(q.shape[-1])) + hidden
            scores = np.exp(scores - scores.max(-1, keepdims=True))
            mixed = (scores / scores.sum(-1, keepdims=True)) @ v
            mixed = mixed.transpose(0, 2, 1, 3).reshape(x.shape)
            x = self.norm(x + self.linear(mixed, p + "attention.output.dense"), p + "attention.output.LayerNorm")
            wide = gelu(self.linear(x, p + "intermediate.dense"))
            x = self.norm(x + self.linear(wide, p + "output.dense"), p + "output.LayerNorm")
        return (x * mask[..., None]).sum(1) / mask.sum(1, keepdims=True)

    def token_vectors(self, batch=512):
        rows = []
        for start in range(0, len(self), batch):
            tokens = range(start, min(start + batch, len(self)))
            rows.append(self.pooled([[self.first, token, self.last] for token in tokens]))
        return np.concatenate(rows)

    def text_vectors(self, texts, batch=64):
        sequences = [[self.first, *ids[: TOKENS_MAX - 2], self.last] for ids in self.ids(texts)]
        order = sorted(range(len(texts)), key=lambda at: (len(sequences[at]), at))  # little padding
        out = np.zeros((len(texts), self.sizes["hidden_size"]), np.float32)
        for start in range(0, len(order), batch):
            at = order[start : start + batch]
            out[at] = self.pooled([sequences[i] for i in at])
            if start % (batch * 50) == 0:
                print(f"{start} of {len(texts)} texts", flush=True)
        return normal(out)


def gelu(x):
    """By the error function, which numpy lacks: Abramowitz and Stegun 7.1.26, right to 2e-7."""
    z = np.abs(x) / np.float32(np.sqrt(2))
    t = 1 / (1 + np.float32(0.3275911) * z)
    terms = (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592)
    sum_ = np.zeros_like(t)
    for term in terms:
        sum_ = (sum_ + np.float32(term)) * t
    error = np.sign(x) * (1 - sum_ * np.exp(-z * z))
    return x * (1 + error) / 2


def normal(rows):
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)


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


def start_table(tokens, sentences):
    """Tokens on the sentences' principal axes, common ones made small."""
    _, _, axes = np.linalg.svd(sentences - sentences.mean(0), full_matrices=False)
    # An axis has no direction of its own; one is chosen, so that the same table comes out everywhere.
    axes *= np.sign(axes[np.arange(len(axes)), np.abs(axes).argmax(1)])[:, None]
    table = (tokens - tokens.mean(0)) @ axes[:DIMS].T
    # The vocabulary is sorted by frequency: by Zipf's law the rank gives the probability, and SIF the weight.
    probability = 1.0 / (np.arange(len(table)) + 2.0)
    probability /= probability.sum()
    return (table * (1e-3 / (1e-3 + probability))[:, None]).astype(np.float32), axes[:DIMS]


class Regression:
    """The table moved so that the sum of a text's rows points where the teacher's vector does."""

    def __init__(self, table, ids, target):
        # Rows are scaled so that the penalty and the rate mean the same for every model.
        self.first = table / np.linalg.norm(table, axis=1).mean()
        self.table = self.first.copy()
        self.ids, self.target = ids, normal(target).astype(np.float32)
        self.moments = [np.zeros_like(self.table), np.zeros_like(self.table)]
        self.steps = 0

    def sums(self, at):
        flat = np.concatenate([self.ids[i] for i in at]).astype(np.int64)
        starts = np.cumsum([0] + [len(self.ids[i]) for i in at[:-1]])
        return flat, np.add.reduceat(self.table[flat], starts)

    def step(self, at, rate=2e-3, betas=(0.9, 0.999)):
        flat, sums = self.sums(at)
        lengths = np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-12)
        got, want = sums / lengths, self.target[at]
        # 1 - cosine, 5 * the squared error of similarities in pairs, 0.02 * the squared way from the start.
        slope = -want / len(at) + 20 / len(at) ** 2 * ((got @ got.T - want @ want.T) @ got)
        slope = (slope - got * (slope * got).sum(1, keepdims=True)) / lengths
        gradient = 0.04 / len(self.table) * (self.table - self.first)
        np.add.at(gradient, flat, np.repeat(slope, [len(self.ids[i]) for i in at], axis=0))
        self.steps += 1
        for moment, beta, power in zip(self.moments, betas, (1, 2)):
            moment *= beta
            moment += (1 - beta) * gradient**power
        mean, square = (m / (1 - beta**self.steps) for m, beta in zip(self.moments, betas))
        self.table -= rate * mean / (np.sqrt(square) + 1e-8)

    def run(self, epochs=12, batch=1024):
        chance = np.random.default_rng(SEED)
        train = np.arange(len(self.ids) - VALIDATION)
        held = np.arange(len(self.ids) - VALIDATION, len(self.ids))
        best, kept = -1.0, self.first
        for epoch in range(epochs):
            order = chance.permutation(train)
            for start in range(0, len(order), batch):
                self.step(order[start : start + batch])
            score = float((normal(self.sums(held)[1]) * self.target[held]).sum(1).mean())
            print(f"epoch {epoch + 1}: validation cosine {score:.4f}", flush=True)
            if score <= best:
                break
            best, kept = score, self.table.copy()
        return kept


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
    teacher = Teacher(arguments.model)
    tokens = kept(work / "tokens.npy", teacher.token_vectors)
    corpus = work / "corpus.txt"
    if not corpus.exists():
        corpus.write_text("\n".join(wordnet_texts(arguments.wordnet)) + "\n")
    texts = corpus.read_text().splitlines()
    sentences = kept(work / "teacher.npy", lambda: teacher.text_vectors(texts))
    table, axes = start_table(tokens, sentences)
    ids = teacher.ids(texts)
    usable = [at for at, of_text in enumerate(ids) if of_text]
    target = ((sentences - sentences.mean(0)) @ axes.T)[usable]
    table = Regression(table, [ids[at] for at in usable], target).run()
    write_table(arguments.out, table)


if __name__ == "__main__":
    main()
