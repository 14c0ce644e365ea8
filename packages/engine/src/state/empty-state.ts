import { writableEmptyState } from "./mutable-state.ts";
import type { ReadonlyState } from "./state.ts";

/** The state before the first event. */
export const emptyState = (): ReadonlyState => writableEmptyState();
