/** Shows progress on stderr once an operation takes longer than a second. */
import type { Sink } from "../terminal.ts";

const PATIENCE_MS = 1_000;
const FRAME_MS = 100;
const frames = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/**
 * Waits for `work`. After a second it prints the name of the operation: a moving line on a terminal, one plain line
 * elsewhere.
 */
export async function withProgress<Result>(sink: Sink, what: string, work: Promise<Result>): Promise<Result> {
  let frame = 0;
  let ticker: NodeJS.Timeout | undefined;
  const patience = setTimeout(() => {
    if (!sink.isTerminal) {
      sink.write(`${what} …\n`);
      return;
    }
    ticker = setInterval(() => {
      sink.write(`\r${frames[frame++ % frames.length] ?? ""} ${what} …`);
    }, FRAME_MS);
  }, PATIENCE_MS);
  try {
    return await work;
  } finally {
    clearTimeout(patience);
    if (ticker !== undefined) {
      clearInterval(ticker);
      sink.write("\r\u001b[K");
    }
  }
}
