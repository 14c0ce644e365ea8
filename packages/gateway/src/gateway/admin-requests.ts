/** The routes that explain requests: one by its id, and the newest. */
import { explanationOf, type RequestRing } from "../telemetry/request-ring.ts";
import { findUsageRecord } from "../usage/find-record.ts";
import { refusal, type AdminAnswer, type AdminRoutes } from "./admin-answer.ts";

const FILE_BYTES_MAX = 256 * 1024 * 1024;
const LIST_MAX = 500;

export interface RequestSources {
  readonly ring: RequestRing;
  /** Folder of the usage files. */
  readonly directory: string;
  now(): number;
}

export function requestRoutes(sources: RequestSources): AdminRoutes {
  let isReading = false;
  const explained = async (id: string): Promise<AdminAnswer> => {
    const summary = sources.ring.find(id);
    if (summary !== undefined) return { status: 200, body: explanationOf(summary) };
    // Reading files takes time: one search at a time bounds what operators can ask for.
    if (isReading) return refusal(429, "Another request is looked up in the usage files. Try again.");
    isReading = true;
    try {
      const usage = await findUsageRecord(sources.directory, id, FILE_BYTES_MAX);
      if (usage !== undefined) return { status: 200, body: { source: "usage", usage } };
    } finally {
      isReading = false;
    }
    const message = `Request ${id.slice(0, 128)} is not known. ${sources.ring.keptText(sources.now())} Usage files have a line for each request that reached a replica, until they are deleted.`;
    return refusal(404, message);
  };
  return ({ method, path, query }) => {
    if (method !== "GET" || !path.startsWith("/v1/requests")) return undefined;
    if (path === "/v1/requests") {
      const isFailed = query.get("outcome") === "failed";
      const count = Math.min(LIST_MAX, Number(query.get("limit") ?? 50) || 50);
      const newest = sources.ring.newest(count, ({ record }) => !isFailed || record.outcome === "failed");
      return { status: 200, body: { requests: newest.map(explanationOf) } };
    }
    return explained(path.slice("/v1/requests/".length));
  };
}
