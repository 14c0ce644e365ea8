/** The workload that holds the allocation of `headroom shell`. Its command waits; the shell runs beside it. */
import { randomBytes } from "node:crypto";

/** Ends at once when it is stopped, and not after the grace period. */
const HOLD_ALLOCATION = ': headroom shell; trap "exit 0" TERM; sleep infinity & wait';

export const shellCommand: readonly string[] = [HOLD_ALLOCATION];

export const isShell = ({ run }: { readonly run: string }): boolean => run === HOLD_ALLOCATION;

export const newShellName = (): string => `shell-${randomBytes(2).toString("hex")}`;
