/** Reads a stream of OpenAI's protocol, chat or completion, within bounds. */
import type { Trial } from "@headroom/protocol";
import { z } from "zod";

const TEXT_CHARS_MAX = 65_536;
const STREAM_BYTES_MAX = 4 * 1024 * 1024;

const tokens = z.int().nonnegative().nullish();
const chunk = z.object({
  choices: z
    .array(
      z.object({
        text: z.string().nullish(),
        delta: z.object({ content: z.string().nullish() }).nullish(),
        finish_reason: z.string().max(100).nullish(),
      }),
    )
    .default([]),
  usage: z.object({ prompt_tokens: tokens, completion_tokens: tokens }).nullish(),
});

/** Throws if the stream is none, or ends without its last line. `beganMs`: when the request was sent, by `performance.now()`. */
export async function readCompletion(response: Response, beganMs: number): Promise<Omit<Trial, "model" | "requestId">> {
  const answer = { text: "", finish: null as string | null, firstTokenMs: null as number | null };
  const used = { inputTokens: null as number | null, outputTokens: null as number | null };
  const sinceMs = (): number => Math.round(performance.now() - beganMs);
  for await (const data of dataLines(response)) {
    if (data === "[DONE]") return { ...answer, ...used, totalMs: sinceMs() };
    const { choices, usage } = chunk.parse(JSON.parse(data));
    const { text, delta, finish_reason: finish } = choices[0] ?? {};
    const added = text ?? delta?.content ?? "";
    if (added !== "") answer.firstTokenMs ??= sinceMs();
    answer.text = (answer.text + added).slice(0, TEXT_CHARS_MAX);
    answer.finish = finish ?? answer.finish;
    if (usage == null) continue;
    used.inputTokens = usage.prompt_tokens ?? null;
    used.outputTokens = usage.completion_tokens ?? null;
  }
  throw new Error("The answer ended before its last line.");
}

/** The data of the events of a stream. Throws if it is longer than such streams are. */
async function* dataLines({ body }: Response): AsyncGenerator<string, void> {
  const decoder = new TextDecoder();
  let rest = "";
  let length = 0;
  for await (const bytes of (body ?? []) as AsyncIterable<Uint8Array>) {
    length += bytes.byteLength;
    if (length > STREAM_BYTES_MAX) throw new Error("The answer is too long.");
    const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) if (line.startsWith("data:")) yield line.slice(5).trim();
  }
}
