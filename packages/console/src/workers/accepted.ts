/** Validates requests to a worker with the schemas of the API, as a server does. */
import { refuse } from "@headroom/protocol";

type Parsed<T> =
  | { readonly success: true; readonly data: T }
  | {
      readonly success: false;
      readonly error: {
        readonly issues: readonly { readonly path: readonly PropertyKey[]; readonly message: string }[];
      };
    };

export function accepted<T>(parsed: Parsed<T>): T {
  if (parsed.success) return parsed.data;
  const errors = parsed.error.issues.map(({ path, message }) => ({
    pointer: `/${path.map(String).join("/")}`,
    message,
  }));
  const detail = errors
    .map(({ pointer, message }) => `${pointer.slice(1).replaceAll("/", ".")}: ${message}`)
    .join("; ");
  throw refuse("invalidRequest", detail, { errors });
}
