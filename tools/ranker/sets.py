#!/usr/bin/env python3
"""Turns public sets into folders that `cortex eval` reads. No set is in the repository.

    sets.py friendsqa OUT friendsqa_dev.json friendsqa_tst.json     (emorynlp/FriendsQA, dat/; Apache-2.0)
    sets.py qmsum OUT val.jsonl test.jsonl                          (Yale-LILY/QMSum, data/ALL/jsonl/; MIT)
    sets.py realmem OUT *_dialogues_256k.json                       (RealMem, dataset/; MIT)
    sets.py realmem-notes OUT *_dialogues_256k.json                 (the same)
    sets.py changelog OUT REPOSITORY:CHANGELOG.md...                (any git repository that names numbers in both)

FriendsQA: a memory is an utterance, a session a scene, a group a season. QMSum: a memory is a turn, a session and a
group a meeting; questions whose answer spans more than SPAN_MAX turns are left out, because ten hits cannot hold them.
RealMem: a memory is a turn of a person or an assistant, a group a person; a question is what the person says when
something from before is needed, and is itself no memory. RealMem's notes: the question is a note that was taken of a
turn, the turn its answer. Changelog: a question is a line of a changelog that names a change by number, a memory is a
commit.
"""
import argparse
import json
import os
import random
import re
import subprocess

SPAN_MAX = 20
NOTES_MAX = 600
LINES_MAX = 120
COMMITS_MAX = 4000


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


def talks(paths):
    """Sessions of RealMem with the memory each turn is, and where each note was taken."""
    for path in paths:
        with open(path) as file:
            talk = json.load(file)
        group = talk["_metadata"]["person_name"]
        taken = {}
        for session in talk["dialogues"]:
            for note in session["extracted_memory"]:
                if not isinstance(note["content"], str) or not isinstance(note.get("source_turn"), int):
                    continue
                # Turns are counted from one, in the session where the note was taken.
                source = f"{group}|{session['session_uuid']}|{note['source_turn'] - 1}"
                taken[session["session_uuid"], note["content"]] = source
        yield group, talk["dialogues"], taken


def realmem(paths):
    corpus, questions, answers = [], [], []
    for group, sessions, taken in talks(paths):
        for session in sessions:
            name, turns = session["session_uuid"], session["dialogue_turns"]
            for place, turn in enumerate(turns):
                key = f"{group}|{name}|{place}"
                used = turns[place + 1].get("memory_used") or [] if place + 1 < len(turns) else []
                used = [(note["session_uuid"], note["content"]) for note in used if isinstance(note["content"], str)]
                gold = {taken.get(note) for note in used} - {None, key}
                if turn.get("is_query") and gold:
                    text = turn["content"]
                    questions.append({"_id": f"{key}?", "group": group, "category": turn["category_name"], "text": text})
                    answers += [(f"{key}?", memory) for memory in sorted(gold)]
                    continue
                row = {"_id": key, "group": group, "session": f"{group}|{name}", "speaker": turn["speaker"].lower()}
                corpus.append(row | {"time": session["current_time"][:10], "text": turn["content"]})
    known = {row["_id"] for row in corpus}
    return corpus, questions, [(question, memory) for question, memory in answers if memory in known]


def realmem_notes(paths):
    corpus, questions, answers = [], [], []
    for group, sessions, taken in talks(paths):
        for session in sessions:
            name = session["session_uuid"]
            for place, turn in enumerate(session["dialogue_turns"]):
                row = {"_id": f"{group}|{name}|{place}", "group": group, "session": f"{group}|{name}"}
                row |= {"speaker": turn["speaker"].lower(), "time": session["current_time"][:10], "text": turn["content"]}
                corpus.append(row)
        for place, ((_, note), memory) in enumerate(taken.items()):
            text = re.sub(r"【.*?】", "", note).strip()
            questions.append({"_id": f"{group}|note{place}", "group": group, "category": "note", "text": text})
            answers.append((f"{group}|note{place}", memory))
    kept = random.Random(1).sample(range(len(questions)), min(NOTES_MAX, len(questions)))
    known = {row["_id"] for row in corpus}
    return corpus, [questions[at] for at in sorted(kept)], [answers[at] for at in sorted(kept) if answers[at][1] in known]


def changelog(paths):
    corpus, questions, answers = [], [], []
    for path in paths:
        repository, file = path.rsplit(":", 1)
        git = lambda *words: subprocess.run(["git", *words], cwd=repository, capture_output=True, check=True).stdout
        log = git("log", "--first-parent", "--format=%H%x1f%cI%x1f%s%x1f%b%x1e", f"-{COMMITS_MAX}")
        group = os.path.basename(os.path.dirname(repository.rstrip("/"))) or repository
        numbers = {}
        for entry in log.decode("utf-8", "replace").split("\x1e"):
            if entry.count("\x1f") != 3:
                continue
            commit, at, subject, body = (part.strip("\n") for part in entry.split("\x1f"))
            number = re.search(r"\(#(\d+)\)$|^Merge pull request #(\d+)", subject)
            # What names the number would be found by it; who it was with says nothing of the change.
            subject = re.sub(r"\s*\(#\d+\)$|^Merge pull request #\d+ from \S+\s*", "", subject)
            body = re.sub(r"(?im)^(co-authored-by|signed-off-by|closes|fixes|resolves|refs?)\b.*$", "", body)
            key = f"{group}|{commit[:12]}"
            row = {"_id": key, "group": group, "session": key, "time": at, "text": f"{subject}\n\n{body}".strip()}
            corpus.append(row)
            if number:
                numbers[number.group(1) or number.group(2)] = key
        lines, last = [], None
        for line in git("show", f"HEAD:{file}").decode("utf-8", "replace").splitlines():
            if re.match(r"\s*[-*] ", line):
                last = len(lines)
                lines.append(line)
            elif last is not None and line.startswith("  ") and line.strip():
                lines[last] += " " + line.strip()
            else:
                last = None
        found = []
        for line in lines:
            gold = {numbers[n] for n in re.findall(r"#(\d+)|/pull/(\d+)", line) for n in n if n in numbers}
            text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", line)
            text = re.sub(r"\(?#\d+\)?|\bby @\S+|@\S+|https?://\S+|\(?\b[0-9a-f]{7,40}\b\)?", "", text)
            text = re.sub(r"\s+", " ", text).strip(" -*()[],")
            # What a robot raised says the same in both.
            if gold and len(gold) <= 3 and len(text) >= 20 and not re.search(r"(?i)\bbump |<img ", text):
                found.append((text, sorted(gold)))
        for place, (text, gold) in enumerate(random.Random(1).sample(found, min(LINES_MAX, len(found)))):
            key = f"{group}|q{place}"
            questions.append({"_id": key, "group": group, "category": group, "text": text})
            answers += [(key, memory) for memory in gold]
    return corpus, questions, answers


READERS = {
    "friendsqa": friendsqa, "qmsum": qmsum, "realmem": realmem, "realmem-notes": realmem_notes, "changelog": changelog,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("set", choices=list(READERS))
    parser.add_argument("out", help="folder of the set")
    parser.add_argument("files", nargs="+")
    arguments = parser.parse_args()
    write(arguments.out, *READERS[arguments.set](arguments.files))


if __name__ == "__main__":
    main()
