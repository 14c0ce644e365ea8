/** The text of an answer, and how much two answers agree. */
import { joined } from "../exchange/joined-target.ts";

/** More words are not compared. */
const WORDS_MAX = 20_000;

/** The text of the first choice of a completion, as a stream of events or whole. Undefined if it has none. */
export function textOfAnswer(answer: string, isStream: boolean): string | undefined {
  const body = isStream ? joined(answer).body : parsed(answer);
  const choices = (body as { readonly choices?: unknown } | undefined)?.choices;
  const [first] = (Array.isArray(choices) ? choices : []) as { text?: unknown; message?: { content?: unknown } }[];
  const text = first?.text ?? first?.message?.content;
  return typeof text === "string" ? text : undefined;
}

function parsed(answer: string): unknown {
  try {
    return JSON.parse(answer);
  } catch {
    return undefined;
  }
}

/** F1 of the words of both texts, by which SQuAD compares answers (Rajpurkar et al. 2016): 1 for equal texts, 0 for texts without a common word. */
export function agreementOf(one: string, other: string): number {
  const [left, right] = [wordsOf(one), wordsOf(other)];
  if (left.length === 0 || right.length === 0) return left.length === right.length ? 1 : 0;
  const counts = new Map<string, number>();
  for (const word of left) counts.set(word, (counts.get(word) ?? 0) + 1);
  let common = 0;
  for (const word of right) {
    const count = counts.get(word) ?? 0;
    if (count === 0) continue;
    counts.set(word, count - 1);
    common++;
  }
  return (2 * common) / (left.length + right.length);
}

const wordsOf = (text: string): readonly string[] =>
  (text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).slice(0, WORDS_MAX);
