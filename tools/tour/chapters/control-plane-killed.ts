import { setTimeout as delay } from "node:timers/promises";
import type { Chapter } from "../chapter.ts";
import { attemptLogs, liveWorkers } from "../../../packages/cli/test/quickstart-run.ts";
import type { Stage } from "../stage.ts";

const SUBMISSIONS = 40;
/** Number of acknowledged submissions at which the control plane is killed, while others are in flight. */
const KILLED_AFTER = 12;
const body = (index: number): object => ({ kind: "train", name: `note-${index}`, run: "true", hold: true });

export const controlPlaneKilled: Chapter = {
  name: "control-plane-killed",
  shows: "kill -9 of the control plane loses no acknowledged submission, doubles none, and stops no work.",
  needs: ["start"],
  async run(stage) {
    const workers = liveWorkers(stage.home);
    stage.equal(
      "two workers train",
      workers.map(({ rank }) => rank).toSorted((a, b) => a - b),
      [0, 1],
    );
    stage.note(`submitting ${SUBMISSIONS} workloads over the API, and killing the control plane in the middle`);
    const acknowledged = await submitAndKill(stage);
    stage.holds(
      "some submissions were acknowledged before the kill, and some were not",
      acknowledged.size >= KILLED_AFTER && acknowledged.size < SUBMISSIONS,
      acknowledged.size,
    );

    const unreachable = await stage.headroom("list");
    stage.equal("a command says that nothing answers", unreachable.code, 1);
    stage.equal("the workers train on without a control plane", liveWorkers(stage.home), workers);
    const stepsBefore = lossCount(stage);
    await stage.until("a further step is reported", async () => (lossCount(stage) > stepsBefore ? true : null));

    await stage.start();
    const found = await listed(stage);
    const lost = [...acknowledged].filter(([name, id]) => found.get(name) !== id);
    stage.equal("every acknowledged submission is there, under its id", lost, []);
    stage.note("retrying all submissions with their idempotency keys");
    const answers = await Promise.all(
      Array.from({ length: SUBMISSIONS }, async (_, index) => await submit(stage, index)),
    );
    stage.equal(
      "every retry is accepted",
      answers.filter(({ status }) => status !== 201).map(({ status }) => status),
      [],
    );
    const after = await listed(stage);
    stage.equal("nothing is lost and nothing is doubled", after.size, SUBMISSIONS);

    await stage.headroom("list", "--phase", "running");
    const { attempts } = await stage.json<{ attempts: { id: string }[] }>("show", "quickstart");
    stage.equal(
      "the quickstart still runs in its first attempt, in the same processes",
      [attempts.length, liveWorkers(stage.home)],
      [1, workers],
    );
    await stage.json("stop", ...after.values());
  },
};

async function submit(stage: Stage, index: number): Promise<Response> {
  return await stage.request("POST", "/v1/workloads", body(index), { "idempotency-key": `tour-note-${index}` });
}

/** Name and id of every submission that was answered before the kill. */
async function submitAndKill(stage: Stage): Promise<ReadonlyMap<string, string>> {
  const acknowledged = new Map<string, string>();
  const kills: Promise<void>[] = [];
  const submitting = Array.from({ length: SUBMISSIONS }, async (_, index) => {
    // Submissions are spread over time, so that the kill interrupts requests in every state.
    await delay(index * 3);
    const answer = await submit(stage, index);
    const { workloadId } = (await answer.json()) as { readonly workloadId: string };
    acknowledged.set(`note-${index}`, workloadId);
    if (acknowledged.size === KILLED_AFTER) kills.push(stage.kill());
  });
  await Promise.allSettled(submitting);
  await Promise.all(kills);
  return acknowledged;
}

async function listed(stage: Stage): Promise<ReadonlyMap<string, string>> {
  const { items } = await stage.json<{ items: { id: string; name: string }[] }>("list", "--limit", "500");
  const notes = items.filter(({ name }) => name.startsWith("note-"));
  const byName = new Map(notes.map(({ id, name }) => [name, id]));
  stage.equal("no name is there twice", byName.size, notes.length);
  return byName;
}

const lossCount = (stage: Stage): number => attemptLogs(stage.home)[0]?.losses.size ?? 0;
