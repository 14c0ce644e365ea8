import type { CommandResult, Rejection } from "@headroom/model";

/** The decision about a command, before the reply is sent. */
export type Decision =
  | { readonly kind: "done"; readonly result: CommandResult }
  | { readonly kind: "refused"; readonly rejection: Rejection };

export const done = (result: CommandResult): Decision => ({ kind: "done", result });
export const refused = (rejection: Rejection): Decision => ({ kind: "refused", rejection });
