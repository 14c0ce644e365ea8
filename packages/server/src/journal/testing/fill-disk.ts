/**
 * `fill HOME`: submits workloads until the disk is full, prints each acknowledged id, and ends as a control plane does
 * when its journal fails. `serve HOME`: does the same over HTTP with a whole control plane, and prints the answer to
 * the request that filled the disk. `check HOME`: opens the directory again, prints the ids in it, submits one more
 * workload and checks the journal.
 */
import { writeSync } from "node:fs";
import { startControlPlane } from "../../server.ts";
import { journalDirectory, openHome } from "../../driver/testing/bench-home.ts";
import { submit, submittedId, testSpec } from "../../driver/testing/requests.ts";
import { redecideJournal, verifyJournal } from "@headroom/journal/internals";

const [mode = "", home = ""] = process.argv.slice(2);
const say = (line: string): number => writeSync(1, `${line}\n`);

async function fill(): Promise<void> {
  const onFatal = (error: Error & { readonly code?: string }): void => {
    say(`fatal ${error.code} ${error.message}`);
    process.exit(1);
  };
  const { driver } = await openHome(home, { onFatal });
  for (let index = 0; ; index++) {
    const spec = testSpec(`w${index}`, { env: { FILLER: "x".repeat(4_000) } });
    say(`acknowledged ${submittedId(await driver.command(submit(spec)))}`);
  }
}

async function serve(): Promise<void> {
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
  const { url, token } = await startControlPlane({ home, port: 0, auth: "token", log });
  for (let index = 0; ; index++) {
    const env = { FILLER: "x".repeat(4_000) };
    const gang = { accelerators: 0, coresMilli: 1 };
    const response = await fetch(`${url}/v1/workloads`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
      body: JSON.stringify({ kind: "train", name: `w${index}`, run: "true", gang, hold: true, env }),
    });
    if (response.status === 201) continue;
    const { code } = (await response.json()) as { readonly code: string };
    say(`answered ${response.status} ${code} after ${index}`);
    return;
  }
}

async function check(): Promise<void> {
  const { driver, close } = await openHome(home);
  for (const id of await driver.read(({ state }) => [...state.workloads.keys()])) say(`kept ${id}`);
  say(`acknowledged ${submittedId(await driver.command(submit(testSpec("after"))))}`);
  await close();
  const { sequence } = verifyJournal(journalDirectory(home));
  say(`verified ${sequence} ${redecideJournal(journalDirectory(home)).sequence}`);
}

await (mode === "fill" ? fill() : mode === "serve" ? serve() : check());
