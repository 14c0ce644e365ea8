/**
 * Users: who submits work, holds it back, plans windows. A request says in a header for whom it acts; the name is as true as
 * the token that came with it (docs/decisions/0018).
 */
import { names } from "@headroom/spec";
import { refuse } from "./problems.ts";

/** As the OpenAPI document writes it; HTTP does not tell cases apart. */
export const USER_HEADER = "Headroom-User";

/**
 * Names under which the control plane records what nobody in particular asked for, and under which forecasts and replays try
 * things: a user of such a name could not be told from them, nor would its share be its own.
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

/** Not the name of what the control plane itself does; a capital letter does not make it another name to whoever reads it. */
export function isUser(name: string): boolean {
  return !keptNames.has(name.toLowerCase());
}

/** The name of a user as it was given; throws what is wrong with it. */
export function checkedUser(given: string): string {
  const result = names.userName.safeParse(given);
  if (!result.success) {
    const message = result.error.issues[0]?.message ?? "is not valid";
    throw refuse("invalidRequest", `The name of a user ${message}; ${JSON.stringify(given.slice(0, 80))} is not.`, {
      errors: [{ pointer: USER_HEADER, message }],
    });
  }
  if (isUser(given)) return given;
  throw refuse("reservedName", `No user may be called ${given}: the control plane itself acts under that name.`, {
    errors: [{ pointer: USER_HEADER, message: "is a name that is kept" }],
  });
}
