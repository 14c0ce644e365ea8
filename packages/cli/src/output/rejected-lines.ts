/** Warnings for the author of a workload about lines of progress files that are not valid reports. */
import type { AttemptMetrics, HeadroomClient } from "@headroom/protocol";
import { printable } from "../terminal.ts";
import type { Paint } from "./style.ts";

export async function rejectedLinesOf(
  { attemptId, rejectedLines }: Pick<AttemptMetrics, "attemptId" | "rejectedLines">,
  paint: Paint,
): Promise<readonly string[]> {
  if (rejectedLines === undefined) return [];
  const { rejectedLineTexts, rejectedLinesText } = await import("@headroom/views");
  return [
    `${paint("yellow", "warning")}  ${rejectedLinesText(attemptId, rejectedLines)}`,
    ...rejectedLineTexts(rejectedLines).flatMap(({ problem, line, expected }) => [
      `  ${printable(problem)}`,
      `    ${printable(line)}`,
      `    expected: ${expected}`,
    ]),
  ];
}

/**
 * Warnings for the workload's first attempts with reports, and for its newest one; empty if the reports cannot be read.
 */
export async function rejectedLinesOfWorkload(
  client: Pick<HeadroomClient, "metrics">,
  { id, attempts }: { readonly id: string; readonly attempts: readonly { readonly id: string }[] },
  paint: Paint,
): Promise<readonly string[]> {
  const newest = attempts.at(-1);
  if (newest === undefined) return [];
  try {
    const { items } = await client.metrics(id, { attempt: newest.id, points: 1 });
    return (await Promise.all(items.map((each) => rejectedLinesOf(each, paint)))).flat();
  } catch {
    // The rest of the output must not depend on telemetry, whose store may be restarting.
    return [];
  }
}
