/** Codes of the problems that several routes share. */
import type { ProblemCode } from "./problems.ts";

/** Problems of every command. */
export const commandProblems = ["overloaded", "idempotencyKeyReused"] as const;
/** Problems of every submission. */
export const admission = ["unknownTeam", "duplicateName", "tooLarge", "queueFull", "workloadActive"] as const;

/** Problems of windows, reservations and schedules. */
export const planning = [
  "unknownPool",
  "unknownNode",
  "reservedName",
  "windowOver",
  "reservationTooLarge",
  "neverDue",
] as const;

/** Problems of every route. */
export const commonProblems: readonly ProblemCode[] = [
  "invalidRequest",
  "reservedName",
  "unauthorized",
  "permissionDenied",
  "ambiguousHost",
  "forbiddenHost",
  "forbiddenOrigin",
  "methodNotAllowed",
  "notAcceptable",
  "requestTimeout",
  "closing",
  "internal",
];
/** Additional problems of every route with a body. */
export const bodyProblems: readonly ProblemCode[] = ["invalidJson", "bodyTooLarge", "unsupportedMediaType"];
