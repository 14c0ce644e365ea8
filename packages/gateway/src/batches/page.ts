/**
 * One page of a list, in the form that OpenAI's SDKs request it: `after` is the id of the last entry of the previous
 * page.
 */
import type { ApiError } from "../protocols/api-error.ts";
import type { Answer } from "../protocols/read-requests.ts";

const LIMIT_MAX = 100;
const LIMIT_DEFAULT = 20;

/** `entries` must be sorted, the newest first. */
export function pageOf(entries: readonly { readonly id: string }[], query: string): Answer | ApiError {
  const parameters = new URLSearchParams(query);
  const limit = Number(parameters.get("limit") ?? LIMIT_DEFAULT);
  if (!Number.isSafeInteger(limit) || limit < 1)
    return { kind: "badRequest", message: `\`limit\` must be a number from 1 to ${LIMIT_MAX}.` };
  const order = parameters.get("order") ?? "desc";
  if (order !== "asc" && order !== "desc") return { kind: "badRequest", message: "`order` must be asc or desc." };
  const ordered = order === "desc" ? entries : entries.toReversed();
  const after = parameters.get("after");
  const from = after === null ? 0 : ordered.findIndex(({ id }) => id === after) + 1;
  if (after !== null && from === 0)
    return { kind: "badRequest", message: "`after` names no entry of this list; begin again without it." };
  const data = ordered.slice(from, from + Math.min(limit, LIMIT_MAX));
  const body = {
    object: "list",
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: from + data.length < ordered.length,
  };
  return { status: 200, body: JSON.stringify(body) };
}
