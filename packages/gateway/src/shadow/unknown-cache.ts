/** Which times to the first token of a request and its copy are compared. */
import type { ExchangeSummary } from "../exchange/runtime.ts";

/**
 * Whether the router expected a part of the prompt in the replica's cache and the engine reported none: most engines report
 * cached tokens only with a flag. A copy may go to a replica without that part, so the times of both answers say nothing.
 */
export const isCacheUnknown = ({ decision, record }: Pick<ExchangeSummary, "decision" | "record">): boolean =>
  (decision?.cachedTokens ?? 0) > 0 && record.cachedTokens === 0;
