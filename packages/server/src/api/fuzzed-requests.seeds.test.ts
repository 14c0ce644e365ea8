import { afterAll, beforeAll, expect, it } from "vitest";
import { removeHome, startLive, temporaryHome } from "./testing/live-control-plane.ts";
import type { LiveControlPlane } from "./testing/live-control-plane.ts";
import { sendFuzzedRequests } from "./testing/send-fuzzed-requests.ts";

/** Seed of the fuzzed requests; `HEADROOM_FUZZ_SEED=7` selects another one. */
const seed = Number(process.env["HEADROOM_FUZZ_SEED"] ?? 2);
const REQUESTS = 20_000;

let live: LiveControlPlane;
beforeAll(async () => {
  live = await startLive(temporaryHome());
  for await (const { event } of live.client.events()) if (event.kind === "nodeJoined") break;
});
afterAll(async () => {
  await live.close();
  removeHome(live.home);
});

it(`answers none of ${REQUESTS} fuzzed requests with 500, runs nothing without the token, and starts again`, async () => {
  const { statuses, ...found } = await sendFuzzedRequests(live, seed, REQUESTS);
  console.log(`seed ${seed}, answers by status: ${JSON.stringify(Object.fromEntries(statuses))}`);
  expect(found).toEqual({ failures: [], admitted: [], eventsWithoutToken: 0 });
  expect(live.complaints).toEqual([]);
  const actors = new Set<string>();
  const { sequence } = live.driver.status();
  for await (const { sequence: at, event } of live.driver.events(1, AbortSignal.timeout(60_000))) {
    if ("actor" in event) actors.add(String(event.actor));
    if (at >= sequence) break;
  }
  expect(actors).toContain("token");
  // The actor of every event must be a user that the requests could authenticate as, or the actor of the start.
  expect([...actors].filter((actor) => !["alice", "start", "token"].includes(actor))).toEqual([]);
  await live.close();
  live = await startLive(live.home);
  expect((await live.client.status()).sequence).toBeGreaterThanOrEqual(sequence);
});
