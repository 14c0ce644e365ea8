/** Colours are used only on a terminal, without NO_COLOR (https://no-color.org) and not with TERM=dumb. */
import type { Sink, Terminal } from "../terminal.ts";

const codes = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, blue: 34, cyan: 36 } as const;
export type Tone = keyof typeof codes;
export type Paint = (tone: Tone, text: string) => string;

export function painter(sink: Sink, env: Terminal["env"]): Paint {
  const isPlain = !sink.isTerminal || (env["NO_COLOR"] ?? "") !== "" || env["TERM"] === "dumb";
  return isPlain ? (_, text) => text : (tone, text) => `\u001b[${codes[tone]}m${text}\u001b[0m`;
}
