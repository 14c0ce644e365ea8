/**
 * Users submit work, hold it, and plan windows. A header of the request names the user; the name is as trustworthy as
 * the token of the request (docs/decisions/0018).
 */
import { names } from "@headroom/spec";
import { refuse } from "./problems.ts";

/** Spelling of the header in the OpenAPI document. HTTP ignores the case of header names. */
export const USER_HEADER = "Headroom-User";

/**
 * Reserved names, under which the control plane records its own actions, and under which forecasts and replays submit
 * work. A user with such a name could not be distinguished from them.
 */
const keptNames: ReadonlySet<string> = new Set([
  "anonymous",
  "console",
  "forecast",
  "notice",
  "replay",
  "simulator",
  "start",
  "token",
  "trial",
  "what-if",
]);

/** Whether the name is not reserved. Case is ignored, because readers would confuse such names. */
export function isUser(name: string): boolean {
  return !keptNames.has(name.toLowerCase());
}

/** Returns the name of a user unchanged. Throws an error with the reason if the name is invalid. */
export function checkedUser(given: string): string {
  const result = names.userName.safeParse(given);
  if (!result.success) {
    const message = result.error.issues[0]?.message ?? "is not valid";
    throw refuse(
      "invalidRequest",
      `The name of a user ${message}, but ${JSON.stringify(given.slice(0, 80))} does not.`,
      {
        errors: [{ pointer: USER_HEADER, message }],
      },
    );
  }
  if (isUser(given)) return given;
  throw refuse(
    "reservedName",
    `No user can be called ${given}, because the control plane itself acts under that name.`,
    {
      errors: [{ pointer: USER_HEADER, message: "is a reserved name" }],
    },
  );
}
