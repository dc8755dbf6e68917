#!/usr/bin/env python3
"""Turns public sets into folders that `cortex eval` reads. No set is in the repository.

    sets.py friendsqa OUT friendsqa_dev.json friendsqa_tst.json     (emorynlp/FriendsQA, dat/)
    sets.py qmsum OUT val.jsonl test.jsonl                          (Yale-LILY/QMSum, data/ALL/jsonl/)

FriendsQA: a memory is an utterance, a session a scene, a group a season. QMSum: a memory is a turn, a session and a
group a meeting; questions whose answer spans more than SPAN_MAX turns are left out, because ten hits cannot hold them.
"""
import argparse
import json
import os

SPAN_MAX = 20


def write(folder, corpus, questions, answers):
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "corpus.jsonl"), "w") as file:
        file.writelines(json.dumps(row) + "\n" for row in corpus)
    with open(os.path.join(folder, "queries.jsonl"), "w") as file:
        file.writelines(json.dumps(row) + "\n" for row in questions)
    with open(os.path.join(folder, "qrels.tsv"), "w") as file:
        file.write("query-id\tcorpus-id\tscore\n")
        file.writelines(f"{question}\t{memory}\t1\n" for question, memory in answers)
    print(f"{folder}: {len(corpus)} memories, {len(questions)} questions, {len(answers)} answers")


def friendsqa(paths):
    corpus, questions, answers = [], [], []
    for path in paths:
        with open(path) as file:
            scenes = json.load(file)["data"]
        for scene in scenes:
            title, paragraph = scene["title"], scene["paragraphs"][0]
            group = title.split("_")[0]
            for said in paragraph["utterances:"]:
                row = {"_id": f"{title}-{said['uid']}", "group": group, "session": title, "text": said["utterance"]}
                row["speaker"] = said["speakers"][0] if said["speakers"] else ""
                corpus.append(row)
            for question in paragraph["qas"]:
                gold = {f"{title}-{answer['utterance_id']}" for answer in question["answers"]}
                kind = question["question"].split()[0].lower()
                row = {"_id": question["id"], "group": group, "category": kind, "text": question["question"]}
                questions.append(row)
                answers += [(question["id"], memory) for memory in sorted(gold)]
    return corpus, questions, answers


def qmsum(paths):
    corpus, questions, answers = [], [], []
    for path in paths:
        name = os.path.splitext(os.path.basename(path))[0]
        with open(path) as file:
            meetings = [json.loads(line) for line in file]
        for number, meeting in enumerate(meetings):
            group = f"{name}-{number}"
            for turn, said in enumerate(meeting["meeting_transcripts"]):
                row = {"_id": f"{group}-{turn}", "group": group, "session": group, "speaker": said["speaker"]}
                corpus.append(row | {"text": said["content"]})
            for place, question in enumerate(meeting["specific_query_list"]):
                spans = [range(int(first), int(last) + 1) for first, last in question["relevant_text_span"]]
                gold = sorted({turn for span in spans for turn in span if turn < len(meeting["meeting_transcripts"])})
                if gold and len(gold) <= SPAN_MAX:
                    key = f"{group}-q{place}"
                    questions.append({"_id": key, "group": group, "category": "specific", "text": question["query"]})
                    answers += [(key, f"{group}-{turn}") for turn in gold]
    return corpus, questions, answers


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("set", choices=["friendsqa", "qmsum"])
    parser.add_argument("out", help="folder of the set")
    parser.add_argument("files", nargs="+")
    arguments = parser.parse_args()
    read = {"friendsqa": friendsqa, "qmsum": qmsum}[arguments.set]
    write(arguments.out, *read(arguments.files))


if __name__ == "__main__":
    main()
