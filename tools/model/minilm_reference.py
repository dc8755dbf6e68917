"""Reference vectors for crates/embed/src/minilm, made without its code.

  python3 minilm_reference.py golden OUT.json       a tiny model of the same architecture, in numpy and float64
  python3 minilm_reference.py real DIR OUT.jsonl    the model in DIR, by torch and transformers

`golden` needs numpy and tokenizers and the vocabulary beside the built-in table; its output is
crates/embed/src/minilm/golden.json. `real` needs torch and transformers; `cortex model check DIR --against OUT.jsonl`
compares with it.
"""

import json
import math
import pathlib
import sys

SENTENCES = r"""The quick brown fox jumps over the lazy dog.
We rotate the signing key every 90 days; run scripts/rotate-key.sh and restart.
Login fails on an empty password, see src/auth.rs line 42.
She moved to Paris in May 2023 and lives near the Seine now.
I prefer tea to coffee, but never after 6 pm!
fn main() { println!("{}", x.iter().map(|v| v + 1).sum::<u32>()); }
SELECT name, COUNT(*) FROM users WHERE age >= 18 GROUP BY name ORDER BY 2 DESC;
def f(x): return x**2 if x > 0 else None  # square
https://example.com/a/b?q=1&r=two#part
Error: ECONNREFUSED 127.0.0.1:5432 (pool exhausted)
Die Anmeldung schlägt fehl, weil Umlaute im Passwort nicht normalisiert wurden.
Straße, Größe, Übung, naïve façade, Ærøskøbing, smörgåsbord.
Le chat s'est endormi près de la fenêtre ; il était très fatigué.
El niño comió una manzana en la montaña ¿verdad?
Não há nada que possamos fazer até amanhã de manhã.
Zażółć gęślą jaźń, powiedział mężczyzna w Łodzi.
Příliš žluťoučký kůň úpěl ďábelské ódy.
İstanbul'da güneşli bir gün; ılık çay içtik.
Το γρήγορο καφέ αλεπού πηδάει πάνω από το σκυλί.
Быстрая коричневая лиса прыгает через ленивую собаку.
Ще не вмерла України і слава, і воля, їжак.
השועל החום המהיר קופץ מעל הכלב העצלן.
الثعلب البني السريع يقفز فوق الكلب الكسول.
तेज़ भूरी लोमड़ी आलसी कुत्ते के ऊपर कूदती है।
দ্রুত বাদামী শিয়াল অলস কুকুরের উপর লাফ দেয়।
விரைவான பழுப்பு நரி சோம்பேறி நாயின் மேல் குதிக்கிறது.
สุนัขจิ้งจอกสีน้ำตาลกระโดดข้ามสุนัขขี้เกียจ
Con cáo nâu nhanh nhẹn nhảy qua con chó lười biếng, đúng không?
数据库迁移需要停机，周五晚上执行。
敏捷的棕色狐狸跳过了懒狗。
素早い茶色の狐がのろまな犬を飛び越える。カタカナとひらがな。
빠른 갈색 여우가 게으른 개를 뛰어넘는다.
სწრაფი ყავისფერი მელა ხტება ზარმაც ძაღლზე.
Արագ շագանակագույն աղվեսը ցատկում է ծույլ շան վրայով։
ፈጣኑ ቡናማ ቀበሮ ሰነፉን ውሻ ዘለለ።
Mabilis na tumalon ang kayumangging soro sa tamad na aso.
Mbweha mwepesi wa kahawia anaruka juu ya mbwa mvivu.
Emoji 😀 in the middle 👩‍👩‍👧‍👦 and at the end 🇫🇷
½ cup + ¼ tsp = 100 °C × ∑ ∞ ≠ √2 → ⇒ €5 £3 ¥9 © ® ™
ﬁne ligatures, ﬀ and ﬃ, full width ＡＢＣ１２３, roman Ⅳ, superscript x² y³
don't can't won't it's o'clock rock'n'roll 'quoted' “curly” ‘single’ „low“ «guillemets»
snake_case camelCase PascalCase kebab-case SCREAMING_SNAKE path/to/file.rs
MixedCASE ACRONYM NASA iPhone McDonald's
a b c d e f g
!!! ??? ... --- ___ *** ### @@@ %%% ^^^ &&& ((( ))) [[[ ]]] {{{ }}}
tabs\tand\nnew lines\r\nand  many   spaces
zero\u200bwidth soft\u00adhyphen bom\ufeff non\u00a0breaking line\u2028separator
combining e\u0301 a\u0308 o\u0302 n\u0303 versus é ä ô ñ
pneumonoultramicroscopicsilicovolcanoconiosis antidisestablishmentarianism
3.14159 1,000,000 0xDEADBEEF 1e-12 2023-05-08T13:56:00Z +49 30 1234567
[redacted] <b>bold</b> &amp; {"key": ["value", null, true]}
O'Brien met Müller & Søn at Zoë's café in Kraków.
ǅ ǆ ß ẞ ſ ı ĸ ŉ ʼn Σίσυφος ΣΊΣΥΦΟΣ
My grandmother's apple pie needs cinnamon, butter and patience.
The quarterly tax report is due on Friday.
A puppy was barking at the mail carrier all morning.
""".strip().split("\n")


def texts():
    plain = [s.replace("\\t", "\t").replace("\\n", "\n").replace("\\r", "\r") for s in SENTENCES]
    for mark in ["200b", "00ad", "feff", "00a0", "2028", "0301", "0308", "0302", "0303"]:
        plain = [s.replace("\\u" + mark, chr(int(mark, 16))) for s in plain]
    out = list(plain)
    n = len(plain)
    # Pairs and short runs of sentences, across languages, then texts longer than the model reads.
    for step in (1, 7, 13):
        for at in range(0, n, 2 if step == 1 else 1):
            if len(out) < 194:
                out.append(plain[at] + " " + plain[(at * step + step) % n])
    out += [" ".join(plain[k:k + 12]) for k in (0, 11, 22, 33, 44)]
    out += [" ".join(plain)]
    return out


# ---- the tiny model ----

SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64,
         "max_position_embeddings": 24, "type_vocab_size": 2, "vocab_size": 4000, "layer_norm_eps": 1e-12}


def tensors():
    h, i = SIZES["hidden_size"], SIZES["intermediate_size"]
    yield "embeddings.word_embeddings.weight", (SIZES["vocab_size"], h)
    yield "embeddings.position_embeddings.weight", (SIZES["max_position_embeddings"], h)
    yield "embeddings.token_type_embeddings.weight", (SIZES["type_vocab_size"], h)
    yield "embeddings.LayerNorm.weight", (h,)
    yield "embeddings.LayerNorm.bias", (h,)
    for n in range(SIZES["num_hidden_layers"]):
        p = f"encoder.layer.{n}."
        for part, o, w in (("attention.self.query", h, h), ("attention.self.key", h, h), ("attention.self.value", h, h),
                           ("attention.output.dense", h, h), ("intermediate.dense", i, h), ("output.dense", h, i)):
            yield p + part + ".weight", (o, w)
            yield p + part + ".bias", (o,)
        for part in ("attention.output.LayerNorm", "output.LayerNorm"):
            yield p + part + ".weight", (h,)
            yield p + part + ".bias", (h,)


def weights(np):
    """Element i of tensor t is splitmix64 of (t << 32 | i), as a multiple of 2^-25 in -0.25..0.25; norms are 1 + that."""
    out = {}
    for t, (name, shape) in enumerate(tensors()):
        size = math.prod(shape)
        with np.errstate(over="ignore"):
            z = (np.arange(size, dtype=np.uint64) | np.uint64(t << 32)) * np.uint64(0x9E3779B97F4A7C15)
            z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            z = z ^ (z >> np.uint64(31))
        value = ((z >> np.uint64(40)).astype(np.float64) - 2.0**23) * 2.0**-25
        if name.endswith("LayerNorm.weight"):
            value = 1.0 + value
        # Through f32, as the file holds it.
        out[name] = value.astype(np.float32).astype(np.float64).reshape(shape)
    return out


def forward(np, w, ids):
    def norm(x, name):
        d = x - x.mean(-1, keepdims=True)
        x = d / np.sqrt((d * d).mean(-1, keepdims=True) + SIZES["layer_norm_eps"])
        return x * w[name + ".weight"] + w[name + ".bias"]

    def linear(x, name):
        return x @ w[name + ".weight"].T + w[name + ".bias"]

    e = "embeddings."
    x = w[e + "word_embeddings.weight"][ids] + w[e + "position_embeddings.weight"][: len(ids)]
    x = norm(x + w[e + "token_type_embeddings.weight"][0], e + "LayerNorm")
    heads = SIZES["num_attention_heads"]
    for n in range(SIZES["num_hidden_layers"]):
        p = f"encoder.layer.{n}."
        q, k, v = (np.split(linear(x, p + "attention.self." + part), heads, 1) for part in ("query", "key", "value"))
        mixed = []
        for a, b, c in zip(q, k, v):
            s = a @ b.T / math.sqrt(a.shape[1])
            s = np.exp(s - s.max(-1, keepdims=True))
            mixed.append(s / s.sum(-1, keepdims=True) @ c)
        x = norm(x + linear(np.concatenate(mixed, 1), p + "attention.output.dense"), p + "attention.output.LayerNorm")
        inner = linear(x, p + "intermediate.dense")
        inner = inner * 0.5 * (1 + np.vectorize(math.erf)(inner / math.sqrt(2)))
        x = norm(x + linear(inner, p + "output.dense"), p + "output.LayerNorm")
    mean = x.mean(0)
    return mean / np.sqrt((mean * mean).sum())


def golden(out):
    import numpy as np
    from tokenizers import BertWordPieceTokenizer

    here = pathlib.Path(__file__).resolve().parent
    lines = (here / "../../crates/recall/model/vocab.txt").read_text().splitlines()[: SIZES["vocab_size"]]
    tokenizer = BertWordPieceTokenizer({piece: n for n, piece in enumerate(lines)}, lowercase=True)
    tokenizer.enable_truncation(SIZES["max_position_embeddings"])
    w = weights(np)
    cases = []
    for text in texts()[::9]:
        ids = tokenizer.encode(text).ids
        vector = [round(float(v), 9) for v in forward(np, w, ids)]
        cases.append({"text": text, "ids": ids, "vector": vector})
    config = dict(SIZES, hidden_act="gelu", model_type="bert")
    rows = ",\n".join(json.dumps(case, ensure_ascii=True) for case in cases)
    pathlib.Path(out).write_text('{"config": ' + json.dumps(config) + ',\n"cases": [\n' + rows + "\n]}\n")


def real(folder, out):
    import torch
    from transformers import AutoModel, AutoTokenizer

    torch.set_num_threads(1)
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()
    with open(out, "w") as file, torch.no_grad():
        for text in texts():
            batch = tokenizer(text, truncation=True, max_length=256, padding=False, return_tensors="pt")
            vector = torch.nn.functional.normalize(model(**batch).last_hidden_state.mean(1))[0]
            case = {"text": text, "ids": batch["input_ids"][0].tolist(), "vector": [round(v, 8) for v in vector.tolist()]}
            file.write(json.dumps(case) + "\n")


if __name__ == "__main__":
    if sys.argv[1:2] == ["golden"] and len(sys.argv) == 3:
        golden(sys.argv[2])
    elif sys.argv[1:2] == ["real"] and len(sys.argv) == 4:
        real(*sys.argv[2:])
    else:
        sys.exit(__doc__)
