/**
 * Requests drawn from the schemas, in turns with the token of the state directory and with one of each role on a team. `HEADROOM_FUZZ_REQUESTS=20000 npm run test:seeds -- packages/server/src/api/fuzzed-schemas`
 * is the full run; `HEADROOM_FUZZ_SEED=7` selects another seed.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { roles } from "@headroom/protocol";
import { removeHome, startLive, temporaryHome } from "./testing/live-control-plane.ts";
import type { LiveControlPlane } from "./testing/live-control-plane.ts";
import { sendSchemaRequests } from "./testing/send-schema-requests.ts";

const seed = Number(process.env["HEADROOM_FUZZ_SEED"] ?? 3);
const requests = Number(process.env["HEADROOM_FUZZ_REQUESTS"] ?? 2_000);
const SLICE = 500;
/** Growth of the process, which contains clients and control plane. Garbage that is not collected yet is included. */
const GROWTH_BYTES_MAX = 1_536 * 1_048_576;

let live: LiveControlPlane;
let rssBefore = 0;
const statuses = new Map<number, number>();
/** Credentials in turns: the token of the state directory, then one of each role on the team `default`. */
const secrets: string[] = [];
beforeAll(async () => {
  live = await startLive(temporaryHome());
  await live.client.submitWorkload({ kind: "train", name: "seed", run: "true", gang: { accelerators: 99 } });
  secrets.push(live.token ?? "");
  for (const role of roles) {
    const request = { name: `fuzz-${role}`, user: "mallory", team: "default", role };
    secrets.push((await live.client.createToken(request)).secret);
  }
  rssBefore = process.memoryUsage().rss;
});
afterAll(async () => {
  await live.close();
  removeHome(live.home);
});

describe(`${requests} requests drawn from the schemas with seed ${seed}`, () => {
  it.for(Array.from({ length: Math.ceil(requests / SLICE) }, (_, slice) => slice * SLICE))(
    "find no bug from request %i on",
    async (first) => {
      const count = Math.min(SLICE, requests - first);
      const authorization = `Bearer ${secrets[(first / SLICE) % secrets.length]}`;
      const request: LiveControlPlane["request"] = (path, init = {}) =>
        live.request(path, { ...init, headers: { ...init.headers, authorization } });
      const { statuses: found, failures } = await sendSchemaRequests({ ...live, request }, { seed, first, count });
      for (const [status, seen] of found) statuses.set(status, (statuses.get(status) ?? 0) + seen);
      expect(failures).toEqual([]);
      expect(live.complaints.filter((each) => /fatal|bug|stack|at .*\.ts:/i.test(each))).toEqual([]);
      expect((await live.request("/healthz")).status).toBe(200);
      expect(process.memoryUsage().rss - rssBefore).toBeLessThan(GROWTH_BYTES_MAX);
    },
  );

  it("reach what is behind the checks, and leave a journal that starts again", async () => {
    console.log(`seed ${seed}, answers by status: ${JSON.stringify(Object.fromEntries(statuses))}`);
    for (const status of [200, 201, 404, 422]) expect(statuses.get(status), String(status)).toBeGreaterThan(0);
    const { sequence } = await live.client.status();
    await live.close();
    live = await startLive(live.home);
    expect((await live.client.status()).sequence).toBeGreaterThanOrEqual(sequence);
  });
});
