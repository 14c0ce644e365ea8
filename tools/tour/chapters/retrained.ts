import path from "node:path";
import type { Chapter } from "../chapter.ts";
import type { Stage } from "../stage.ts";

const repository: string = path.resolve(import.meta.dirname, "..", "..", "..");
const example = path.join(repository, "examples", "retraining");

interface ListedEndpoint {
  readonly revision: number;
  readonly rollout: object | null;
  readonly replicas: { readonly ready: number };
}

export const retrained: Chapter = {
  name: "retrained",
  shows: "New text trains a model, which is measured, promoted by an alias and put into service, without a person.",
  needs: [],
  run: (stage) => stage.apart(play),
};

async function play(stage: Stage): Promise<void> {
  await stage.startFleet(2);
  await stage.headroom("apply", "-f", path.join(example, "pipeline.yaml"), "--yes");
  await stage.headroom("dataset", "register", "dataset:text", path.join(repository, "docs", "how-to"));
  await promoted(stage, 1);
  await stage.headroom("apply", "-f", path.join(example, "endpoint.yaml"), "--yes");
  const first = await inService(stage, 0);
  stage.holds("the first version is in service", first >= 1, first);

  await stage.headroom("dataset", "register", "dataset:text", path.join(repository, "docs", "tutorial"));
  await promoted(stage, 2);
  const second = await inService(stage, first);
  stage.holds("the second version took its place by a rollout", second > first, [first, second]);
  const { stdout } = await stage.headroom("lineage", "model:quickstart@production");
  stage.matches("its lineage leads back to the second text", stdout, /dataset:text@2/);
  await stage.headroom("history", "retrained");
  await stage.headroom("stop", "retrained");
}

/** Waits until the run of the newest text has ended, and the alias points to the version that it made. */
async function promoted(stage: Stage, version: number): Promise<void> {
  await stage.until(`run p${version} ends`, async () => {
    const { phase } = await stage.json<{ readonly phase: string }>("pipeline", "show", `p${version}`);
    return phase === "waiting" || phase === "running" ? null : phase;
  });
  await stage.headroom("pipeline", "show", `p${version}`);
  const { ref } = await stage.json<{ readonly ref: string }>("model", "show", "quickstart@production");
  stage.matches("the alias points to the new version", ref, new RegExp(`@${version}$`));
}

/** The revision of the endpoint that is newer than another one, when its replica is ready and no rollout goes on. */
function inService(stage: Stage, than: number): Promise<number> {
  return stage.until("a replica of a new revision is ready", async () => {
    const answer = await stage.request("GET", "/v1/endpoints");
    const { items } = (await answer.json()) as { readonly items: readonly ListedEndpoint[] };
    const [endpoint] = items;
    if (endpoint === undefined || endpoint.rollout !== null || endpoint.replicas.ready === 0) return null;
    return endpoint.revision > than ? endpoint.revision : null;
  });
}
