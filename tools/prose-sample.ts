/**
 * `npm run prose:sample -- --seed 1 --count 100`: draws random comments, and random sentences of README, docs, help,
 * verdicts and labels. A reader who has not seen the code judges them. The same seed and tree give the same sample.
 * Figures: docs/promises.md.
 */
import { readFileSync } from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";
import { proseFiles } from "./prose/files.ts";
import { type Passage, passagesOfDocument, passagesOfSource, sentencesOf } from "./prose/passages.ts";
import { repositoryRoot } from "./testing/repository-copy.ts";

const { values } = parseArgs({
  options: { seed: { type: "string", default: "1" }, count: { type: "string", default: "100" } },
});
const seed = Number(values.seed);
const count = Number(values.count);
if (!Number.isSafeInteger(seed) || !Number.isSafeInteger(count) || count < 1) {
  process.stderr.write("--seed and --count take whole numbers, --count at least 1\n");
  process.exit(2);
}

/** SplitMix32 (public domain): uniform in [0, 1). */
function generator(start: number): () => number {
  let state = start >>> 0;
  return () => {
    state = (state + 0x9e3779b9) >>> 0;
    let word = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
    word = Math.imul(word ^ (word >>> 15), 0x735a2d97);
    return ((word ^ (word >>> 15)) >>> 0) / 2 ** 32;
  };
}

/** The first `count` items of a seeded Fisher-Yates shuffle. */
function draw<T>(items: readonly T[], random: () => number): readonly T[] {
  const pool = [...items];
  const drawn: T[] = [];
  while (drawn.length < count && pool.length > 0) {
    const at = Math.floor(random() * pool.length);
    const last = pool.pop();
    const chosen = at === pool.length ? last : pool[at];
    if (chosen === undefined || last === undefined) break;
    if (at < pool.length) pool[at] = last;
    drawn.push(chosen);
  }
  return drawn;
}

function passagesOf(file: string): readonly Passage[] {
  const text = readFileSync(path.join(repositoryRoot, file), "utf8");
  return file.endsWith(".md") ? passagesOfDocument(file, text) : passagesOfSource(file, text);
}

/** Whether the text has at least three words outside of code; names and figures alone do not count as prose. */
const isProse = (text: string): boolean => (text.replaceAll(/`[^`]*`/g, "").match(/[A-Za-z]{2,}/g) ?? []).length >= 3;
const isShown = ({ file, kind }: Passage): boolean =>
  kind === "document" ||
  (kind === "message" && !/\.test\.tsx?$|\/(?:test|testing|bench)\//.test(file) && file.startsWith("packages/"));

const passages = proseFiles().flatMap(passagesOf);
const comments = passages.filter(({ kind, text }) => kind === "comment" && isProse(text));
const sentences = passages
  .filter(isShown)
  .flatMap((passage) => sentencesOf(passage.text).map((text) => ({ ...passage, text })))
  .filter(({ text }) => isProse(text));

const random = generator(seed);
for (const [name, pool] of [
  ["comments", comments],
  ["sentences", sentences],
] as const) {
  process.stdout.write(`${name}: ${count} of ${pool.length}, seed ${seed}\n`);
  draw(pool, random).forEach(({ file, line, text }, at) => {
    process.stdout.write(`${String(at + 1).padStart(3)} ${file}:${line}\n    ${text}\n`);
  });
  process.stdout.write("\n");
}
