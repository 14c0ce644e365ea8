/** Calls of MLflow's API as its clients send them: GET with a query, the others with JSON. */
import type { LiveControlPlane } from "../../api/testing/live-control-plane.ts";

export interface MlflowReply {
  readonly status: number;
  // oxlint-disable-next-line typescript/no-explicit-any -- tests read answers as clients without types do.
  readonly body: any;
}

export type MlflowClient = (method: string, path: string, fields?: object) => Promise<MlflowReply>;

export function mlflowClient(live: Pick<LiveControlPlane, "request">): MlflowClient {
  return async (method, path, fields = {}) => {
    const pairs = Object.entries(fields).flatMap(([name, value]) =>
      (Array.isArray(value) ? value : [value]).map((each) => [name, String(each)]),
    );
    const url = `/api/2.0/mlflow/${path}`;
    const headers = { "content-type": "application/json" };
    const response =
      method === "GET"
        ? await live.request(`${url}?${new URLSearchParams(pairs)}`)
        : await live.request(url, { method, headers, body: JSON.stringify(fields) });
    return { status: response.status, body: await response.json() };
  };
}
