import { divideFairShare } from "@headroom/engine";
import type { FairShareVector, Outcome } from "./scenario-file.ts";

const MILLI = 1000;
const milli = (amount: number): number => Math.round(amount * MILLI);

/**
 * Divides one resource among queues, in thousandths. Expected values are rounded to thousandths, because the source
 * calculates in floating point.
 */
export function playVector({ id, name, total, queues, expectedGpuShare, expectedRemaining }: FairShareVector): Outcome {
  const shares = divideFairShare(
    milli(total),
    queues.map(({ quota, limit, request, weight, priority }) => ({
      guarantee: quota === null ? null : milli(quota),
      limit: limit == null ? null : milli(limit),
      request: milli(request),
      weight,
      priority: priority ?? 0,
    })),
    MILLI,
  );
  const differences: string[] = [];
  queues.forEach((queue, index) => {
    const expected = expectedGpuShare[queue.name];
    const share = shares[index] as number;
    if (expected !== undefined && milli(expected) !== share)
      differences.push(`${queue.name}: expected ${expected}, got ${share / MILLI}`);
  });
  const remaining = Math.max(0, milli(total) - shares.reduce((sum, share) => sum + share, 0));
  if (expectedRemaining !== undefined && milli(expectedRemaining) !== remaining)
    differences.push(`expected ${expectedRemaining} left, got ${remaining / MILLI}`);
  return { id, dialect: "fair-share", name, differences };
}
