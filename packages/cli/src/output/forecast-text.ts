/** Lines that list the changes which would start a workload. */
import type { StartingChange, SubmissionForecast } from "@headroom/protocol";
import { anyOneStartsIt, noneStartsIt } from "@headroom/views/text";
import { noticeLines } from "./notice-lines.ts";
import type { Paint } from "./style.ts";
import { printable } from "../terminal.ts";

/** The changes, cheapest first, or a sentence if no single change would start the workload. */
export function changeLines(changes: readonly StartingChange[], paint: Paint): string[] {
  if (changes.length === 0) return ["", noneStartsIt];
  const lines = changes.map(
    ({ change, start }) => `  ${printable(change.sentence)} ${paint("dim", printable(start.sentence))}`,
  );
  return ["", anyOneStartsIt, ...lines];
}

export function forecastLines(forecast: SubmissionForecast, paint: Paint): string[] {
  return forecast.kind === "starts"
    ? shortForecastLines(forecast)
    : [...shortForecastLines(forecast), ...changeLines(forecast.changes, paint)];
}

/** Expected result and start, without the changes that would start the workload. */
export function shortForecastLines(forecast: SubmissionForecast): string[] {
  const estimate = forecast.kind === "waits" ? forecast.estimate : null;
  // Notices, except the one about reclaim, which the sentence above already states.
  const notices = forecast.notices?.filter(({ kind }) => kind !== "reclaimable");
  return [
    ...[forecast.sentence, ...(estimate === null ? [] : [estimate.sentence])].map(printable),
    ...noticeLines(notices),
  ];
}
