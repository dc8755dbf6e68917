#!/usr/bin/env python3
"""Trains the ranker and the relevance of crates/recall from features that `cortex eval DIR --features FILE` wrote.

    train.py --select FEATURES.tsv...                 prints each kind left out of training, for every configuration
    train.py --out crates/recall/model/ranker.bin FEATURES.tsv...

One file is one kind of data. Same files, same seed: same bytes. Needs lightgbm, numpy and scikit-learn.
"""
import argparse
import collections
import math
import os
import struct

os.environ.setdefault("OMP_NUM_THREADS", "1")

import lightgbm
import numpy
from sklearn.linear_model import LogisticRegression

FORMAT, FEATURES_VERSION = 1, 2
RANKED = 100
"""Candidates of a question that the ranker sees, as in order.rs."""
QUESTIONS_PER_KIND = 250
"""More of one kind would drown the others."""
COLUMNS = ["question", "kind", "group", "asked", "category", "golds", "label", "memory"]

# What a text and a question have in common: more of it may never put a memory lower, or less of it higher.
RISING = """fused words_share words_reach words_present token_rarest pairs speaker date words_around
tokens_around""".split()
FALLING = ["words_missing"]
USED = RISING + FALLING

CONFIGURATIONS = [
    {"base": 0.016, "trees": 60, "leaves": 8},
    {"base": 0.008, "trees": 60, "leaves": 8},
    {"base": 0.024, "trees": 60, "leaves": 8},
]
"""The first is shipped unless another is better by the rule that --select prints."""
SEEDS = [7, 8, 9, 10]

# As in relevance.rs.
TOLD_BY = """words_reach words_present meaning_near meaning_whole interaction_best tokens_same tokens_anywhere
tokens_alike token_rarest pairs speaker date words_missing""".split()
OF_QUESTION = "question_terms question_unknown question_rarest store_size of_another".split()


class Question:
    def __init__(self, row):
        self.id, self.kind, self.group, self.asked, self.category = row[:5]
        self.golds = int(row[5])
        self.labels, self.rows = [], []


def load(path, skip):
    """Questions of a file, in its order; names of the features."""
    questions, names = [], None
    with open(path) as file:
        head = file.readline().rstrip("\n").split("\t")
        assert head[: len(COLUMNS)] == COLUMNS, f"{path}: not a file of features"
        names = head[len(COLUMNS):]
        last = None
        for line in file:
            row = line.rstrip("\n").split("\t")
            if row[4] in skip:
                continue
            if last is None or (last.id, last.asked) != (row[0], row[3]):
                last = Question(row)
                questions.append(last)
            if len(last.rows) < RANKED:
                last.labels.append(int(row[6]))
                last.rows.append([int(value) for value in row[len(COLUMNS):]])
    for question in questions:
        question.x = numpy.array(question.rows, dtype=numpy.int32)
        question.y = numpy.array(question.labels)
        del question.rows, question.labels
    return names, questions


GAINS = 1 / numpy.log2(numpy.arange(10) + 2)


def measured(questions, scores):
    """Recall and nDCG at ten."""
    recall = ndcg = 0.0
    for question, score in zip(questions, scores):
        order = numpy.argsort(-score, kind="stable")[:10]
        hits = question.y[order]
        recall += hits.sum() / question.golds
        ndcg += (hits * GAINS[: len(hits)]).sum() / GAINS[: min(10, question.golds)].sum()
    return recall / len(questions), ndcg / len(questions)


class Order:
    """Trees over the fused score."""

    def __init__(self, names, kinds, configuration):
        self.names, self.base = names, configuration["base"]
        self.columns = [names.index(name) for name in USED]
        rows, labels, groups, weights = [], [], [], []
        for questions in kinds:
            fit = [q for q in questions if q.asked == "own" and 0 < q.y.sum() < len(q.y)]
            if len(fit) > QUESTIONS_PER_KIND:
                chosen = numpy.random.RandomState(1).choice(len(fit), QUESTIONS_PER_KIND, replace=False)
                fit = [fit[place] for place in chosen]
            for question in fit:
                rows.append(question.x)
                labels.append(question.y)
                groups.append(len(question.y))
                weights.append(numpy.full(len(question.y), 100 / len(fit)))
        rows, weights = numpy.vstack(rows), numpy.concatenate(weights)
        fused = rows[:, names.index("fused")] * self.base
        monotone = [1 if name in RISING else -1 for name in USED]
        self.boosters = []
        for seed in SEEDS:
            settings = dict(
                objective="lambdarank", num_leaves=configuration["leaves"], learning_rate=0.1, min_data_in_leaf=40,
                lambda_l2=5, feature_fraction=0.5, bagging_fraction=0.7, bagging_freq=1, max_bin=63,
                lambdarank_truncation_level=15, monotone_constraints=monotone, seed=seed, deterministic=True,
                force_row_wise=True, num_threads=1, verbose=-1,
            )
            data = lightgbm.Dataset(
                rows[:, self.columns], numpy.concatenate(labels), group=groups, weight=weights, init_score=fused
            )
            self.boosters.append(lightgbm.train(settings, data, configuration["trees"]))
        self.packed = pack_trees(self.boosters, self.columns)
        self.trees = [read_tree(tree) for tree in self.packed]
        self.base_units = round(self.base * 65536)

    def margins(self, questions):
        """As the program computes them, whole numbers: those of each question."""
        rows = numpy.vstack([question.x for question in questions])
        total = rows[:, self.names.index("fused")].astype(numpy.int64) * self.base_units
        for nodes, leaves in self.trees:
            total += walk(rows, nodes, leaves)
        return numpy.split(total, numpy.cumsum([len(question.x) for question in questions])[:-1])


def pack_trees(boosters, columns):
    """The trees of all seeds, each a share of the mean, as bytes."""
    packed = []
    for booster in boosters:
        for tree in booster.dump_model()["tree_info"]:
            nodes, leaves = {}, {}

            def visit(node):
                if "leaf_index" in node or "split_index" not in node:
                    leaves[node.get("leaf_index", 0)] = node["leaf_value"]
                    return -1 - node.get("leaf_index", 0)
                assert node["decision_type"] == "<="
                left, right = visit(node["left_child"]), visit(node["right_child"])
                feature = columns[node["split_feature"]]
                nodes[node["split_index"]] = (feature, math.floor(node["threshold"]), left, right)
                return node["split_index"]

            visit(tree["tree_structure"])
            out = struct.pack("<B", len(nodes))
            for place in sorted(nodes):
                out += struct.pack("<Bibb", *nodes[place])
            for place in range(len(nodes) + 1):
                out += struct.pack("<i", round(leaves.get(place, 0.0) / len(boosters) * 65536))
            packed.append(out)
    return packed


def read_tree(packed):
    count = packed[0]
    nodes = [struct.unpack_from("<Bibb", packed, 1 + 7 * at) for at in range(count)]
    leaves = struct.unpack_from(f"<{count + 1}i", packed, 1 + 7 * count)
    return nodes, numpy.array(leaves, dtype=numpy.int64)


def walk(x, nodes, leaves):
    place = numpy.zeros(len(x), dtype=int) if nodes else numpy.full(len(x), -1)
    for at, (feature, threshold, below, above) in enumerate(nodes):
        here = place == at
        place[here] = numpy.where(x[here, feature] <= threshold, below, above)
    return leaves[-1 - place]


def answer_signals(names, x):
    """As AnswerSignals::of; the rows come in the ranker's order."""
    of = lambda name, rows: numpy.sort(rows[:, names.index(name)])[::-1]
    at = lambda values, place: int(values[min(place, len(values) - 1)]) if len(values) else 0
    first, values = x[:10], []
    for name in TOLD_BY:
        ordered = of(name, first)
        best = at(ordered, 10) if name == "words_missing" else at(ordered, 0)
        values += [int(x[0, names.index(name)]) if len(x) else 0, best, at(ordered, 2)]
    near, fused = of("meaning_near", x), of("fused", x)
    values += [at(near, 0) - at(near, 9), at(near, 0) - at(near, len(near) // 2)]
    values += [at(fused, 0), at(fused, 0) - at(fused, 9)]
    values += [int(x[0, names.index(name)]) if len(x) else 0 for name in OF_QUESTION]
    return values


class Relevance:
    """Weights of what the candidates say together, and of how far one of them is behind."""

    def __init__(self, kinds):
        rows, labels, weights = [], [], []
        for table in kinds:
            rows.append(table["signals"])
            labels.append(table["answered"])
            weights.append(numpy.full(len(table["answered"]), 300 / max(1, len(table["answered"]))))
        rows, labels, weights = numpy.vstack(rows), numpy.concatenate(labels), numpy.concatenate(weights)
        mean, deviation = rows.mean(0), rows.std(0) + 1e-9
        fitted = LogisticRegression(C=0.1, max_iter=1000).fit((rows - mean) / deviation, labels, sample_weight=weights)
        scaled = fitted.coef_[0] / deviation
        self.weights = [round(weight * 2**32) for weight in scaled]
        self.added = round((fitted.intercept_[0] - (scaled * mean).sum()) * 2**32)
        own = [self.margins(t["signals"])[t["answered"] == 1] for t in kinds]
        other = [self.margins(t["signals"])[t["answered"] == 0] for t in kinds]
        # Where each word begins, every kind counting the same: .03 false alarms, .9 kept, .985 kept.
        evenly = lambda margins: numpy.quantile(margins, numpy.linspace(0, 1, 201))
        together = lambda groups: numpy.concatenate([evenly(group) for group in groups if len(group)])
        quantile = lambda groups, share: int(numpy.quantile(together(groups), share))
        likely = quantile(own, 0.1)
        self.least = [max(quantile(other, 0.97), likely), likely, min(quantile(own, 0.015), likely)]
        hits, gold, share = [], [], []
        for table in kinds:
            margins = self.margins(table["signals"])
            for margin, behind, labels in zip(margins, table["behind"], table["labels"]):
                hits += [(margin / 65536, gap / 65536) for gap in behind[:20]]
                gold += list(labels[:20])
                share += [300 / len(margins)] * len(labels[:20])
        fitted = LogisticRegression(C=1.0, max_iter=1000).fit(numpy.array(hits), gold, sample_weight=share)
        self.hit = [fitted.coef_[0][0], min(fitted.coef_[0][1], 0.0), fitted.intercept_[0]]

    def margins(self, signals):
        sums = [sum(w * int(v) for w, v in zip(self.weights, row)) + self.added for row in signals]
        return numpy.array([value >> 16 for value in sums], dtype=numpy.int64)

    def bytes(self):
        out = struct.pack("<H", len(self.weights))
        out += b"".join(struct.pack("<q", weight) for weight in self.weights) + struct.pack("<q", self.added)
        out += struct.pack("<3i", *self.least)
        return out + struct.pack("<3i", *[round(value * 65536) for value in self.hit])


def tables(names, kinds, order, unfit):
    """What the relevance is fitted on, per kind; kinds without questions of others are left out."""
    found = {}
    for kind, questions in kinds.items():
        if kind in unfit:
            continue
        asked = [q for q in questions if q.asked in ("own", "other") and len(q.x)]
        if not any(q.asked == "other" for q in asked):
            continue
        table = collections.defaultdict(list)
        for question, margins in zip(asked, order.margins(asked)):
            place = numpy.argsort(-margins, kind="stable")
            table["signals"].append(answer_signals(names, question.x[place]))
            table["answered"].append(int(question.asked == "own"))
            table["behind"].append(margins[place][0] - margins[place])
            table["labels"].append(question.y[place])
        table["signals"] = numpy.array(table["signals"], dtype=numpy.int64)
        table["answered"] = numpy.array(table["answered"])
        found[kind] = table
    return found


def told_apart(table, margins):
    """AUC; the share of false alarms where .9 are kept; the share kept where .03 are false alarms."""
    own, other = margins[table["answered"] == 1], margins[table["answered"] == 0]
    ordered = numpy.sort(other)
    auc = (numpy.searchsorted(ordered, own) + numpy.searchsorted(ordered, own, side="right")).mean() / 2 / len(other)
    return auc, (other >= numpy.quantile(own, 0.1)).mean(), (own > numpy.quantile(other, 0.97)).mean()


def select(names, kinds, arguments):
    fused = names.index("fused")
    alike = {kind: group for group in arguments.alike for kind in group.split(",")}
    apart = lambda a, b: a != b and (a not in alike or alike[a] != alike.get(b))
    ranked = {k: [q for q in qs if q.asked == "own" and q.golds] for k, qs in kinds.items()}
    ranked = {k: qs for k, qs in ranked.items() if qs}
    learned = [kind for kind in ranked if kind not in arguments.measure_only]
    print(f"{'left out':<44}" + "".join(f"{kind:>16}" for kind in ranked) + "    mean")
    line = lambda name, row: print(
        f"{name:<44}" + "".join(f"   {r:.3f} / {n:.3f}" for r, n in row) + f"   {numpy.mean(row):.4f}", flush=True
    )
    by_arms = lambda question: question.x[:, fused] - numpy.arange(len(question.x)) / 1e4
    line("arms by weight", [measured(questions, map(by_arms, questions)) for questions in ranked.values()])
    for configuration in CONFIGURATIONS[: arguments.configurations]:
        row, relevance = [], []
        for kind, questions in ranked.items():
            others = [other for other in learned if apart(kind, other)]
            order = Order(names, [ranked[other] for other in others], configuration)
            row.append(measured(questions, order.margins(questions)))
            if kind in arguments.unfit or not any(q.asked == "other" and len(q.x) for q in kinds[kind]):
                continue
            # Neither the order nor the relevance has seen the kind.
            found = tables(names, {k: kinds[k] for k in [*others, kind]}, order, arguments.unfit)
            fitted = Relevance([found[other] for other in others if other in found])
            relevance.append((kind, told_apart(found[kind], fitted.margins(found[kind]["signals"]))))
        line(str(configuration), row)
        print("questions of others: AUC, false alarms at .9 kept, kept at .03 false alarms")
        for kind, values in relevance:
            print(f"{kind:<16} " + " ".join(f"{value:.3f}" for value in values))
        means = numpy.mean([values for _, values in relevance], 0)
        print(f"{'mean':<16} " + " ".join(f"{value:.3f}" for value in means), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("features", nargs="+", help="files of `cortex eval DIR --features FILE`, one kind each")
    parser.add_argument("--select", action="store_true", help="print what each configuration does on a kind left out")
    parser.add_argument("--out", help="where the model goes")
    parser.add_argument("--alike", action="append", default=[], help="kinds A,B,… that are left out together")
    parser.add_argument("--measure-only", action="append", default=[], help="a kind to measure and never to learn from")
    parser.add_argument("--unfit", action="append", default=[], help="a kind that says nothing of relevance")
    parser.add_argument("--configurations", type=int, default=len(CONFIGURATIONS), help="how many to look at")
    parser.add_argument("--skip-categories", default="adversarial", help="questions not to look at")
    arguments = parser.parse_args()
    skip, kinds, names = set(arguments.skip_categories.split(",")), {}, None
    for path in arguments.features:
        found, questions = load(path, skip)
        assert names in (None, found), f"{path}: other features than the file before"
        names = found
        kinds[os.path.splitext(os.path.basename(path))[0]] = questions
    if arguments.select:
        select(names, kinds, arguments)
    if arguments.out:
        kinds = {kind: questions for kind, questions in kinds.items() if kind not in arguments.measure_only}
        order = Order(names, list(kinds.values()), CONFIGURATIONS[0])
        relevance = Relevance(list(tables(names, kinds, order, arguments.unfit).values()))
        model = b"CXRK" + struct.pack("<HHHi", FORMAT, FEATURES_VERSION, len(names), order.base_units)
        model += struct.pack("<H", len(order.packed)) + b"".join(order.packed) + relevance.bytes()
        with open(arguments.out, "wb") as file:
            file.write(model)
        print(f"{arguments.out}: {len(order.packed)} trees, {len(model)} bytes")
        print("words from", [round(value / 65536, 3) for value in relevance.least], "hit", relevance.hit)


if __name__ == "__main__":
    main()
