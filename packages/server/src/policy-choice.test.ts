import path from "node:path";
import { defaultPolicy, genesisPolicy } from "@headroom/model";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { sqliteJournal } from "@headroom/journal";
import { removeHome, startLive, temporaryHome } from "./api/testing/live-control-plane.ts";
import { openDriver } from "./driver/open-driver.ts";
import { submit, testSpec } from "./driver/testing/requests.ts";

let home: string;
beforeEach(() => {
  home = temporaryHome();
});
afterEach(() => removeHome(home));

/** Creates a journal with events but without a policy, as older control planes left journals. */
async function journalWithoutPolicy(): Promise<void> {
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
  const fail = (error: Error): never => {
    throw error;
  };
  const driver = await openDriver({
    openJournal: sqliteJournal(path.join(home, "journal")),
    executors: [],
    log,
    onFatal: fail,
  });
  await driver.command(submit(testSpec("before")));
  expect(await driver.read(({ state }) => state.policy)).toEqual(genesisPolicy);
  await driver.close();
}

describe("the policy of a first start", () => {
  it("is the default preset, on record before anything else, and once", async () => {
    const first = await startLive(home);
    expect(await first.client.policy()).toEqual(defaultPolicy);
    for await (const { sequence, event } of first.client.events({ from: 1 })) {
      expect([sequence, event.kind]).toEqual([1, "policySet"]);
      break;
    }
    const { sequence } = await first.client.status();
    await first.close();
    const second = await startLive(home);
    expect((await second.client.status()).sequence).toBe(sequence);
    await second.close();
  });

  it("stays what it was where the journal has a past, until somebody asks for the preset", async () => {
    await journalWithoutPolicy();
    const first = await startLive(home);
    expect(await first.client.policy()).toEqual(genesisPolicy);
    await first.close();
    const second = await startLive(home, { policy: "default" });
    expect(await second.client.policy()).toEqual(defaultPolicy);
    await second.close();
  });
});
