/** Requests to the admin address, and their answers. */
export interface AdminAnswer {
  readonly status: number;
  /** Sent as JSON, unless it is a text, which is sent as `type`. */
  readonly body: object | string;
  readonly type?: string;
}

export interface AdminRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  /** The JSON of the body. An empty object without a body. */
  readonly body: unknown;
}

/** A group of routes. Undefined for paths of other groups. */
export type AdminRoutes = (request: AdminRequest) => AdminAnswer | Promise<AdminAnswer> | undefined;

export function refusal(status: number, error: string): AdminAnswer {
  return { status, body: { error } };
}
