/** What would start work, as lines. */
import type { StartingChange, SubmissionForecast } from "@headroom/protocol";
import type { Paint } from "./style.ts";
import { printable } from "../terminal.ts";

/** The cheapest change first; nothing where no single one would do. */
export function changeLines(changes: readonly StartingChange[], paint: Paint): string[] {
  if (changes.length === 0) return [];
  const lines = changes.map(
    ({ change, start }) => `  ${printable(change.sentence)} ${paint("dim", printable(start.sentence))}`,
  );
  return ["", "Any one of these starts it now; each was tried:", ...lines];
}

export function forecastLines(forecast: SubmissionForecast, paint: Paint): string[] {
  const first = printable(forecast.sentence);
  return forecast.kind === "starts" ? [first] : [first, ...changeLines(forecast.changes, paint)];
}
