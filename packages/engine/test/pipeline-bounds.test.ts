/** Bounds of the runs of pipelines: a busy pipeline takes no room from others. */
import { ENDED_RUNS_KEPT, TRIGGERED_RUNS_MAX, isRunOpen } from "@headroom/model";
import type { Command } from "@headroom/model";
import { describe, expect, it } from "vitest";
import { checkInvariants } from "@headroom/engine-oracle";
import { Drive } from "./lab/drive.ts";
import { applied, command, team } from "./lab/make.ts";
import { pipelineOf } from "./scenarios/pipeline-words.ts";

const run = (name: string, dates?: readonly string[]): Command =>
  command({
    kind: "startPipelineRun",
    name,
    params: {},
    force: false,
    trigger: "manual",
    ...(dates === undefined ? {} : { dates }),
  });
const hook = (name: string, key: string): Command =>
  command({ kind: "startPipelineRun", name, params: {}, force: false, trigger: "webhook", key });
const dates = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, day) => new Date(Date.UTC(2020, 0, 1 + day)).toISOString().slice(0, 10));

function pipelines(...texts: readonly string[]): Drive {
  const drive = new Drive();
  drive.receive(applied({ pipelines: texts.map((text) => pipelineOf(text)) }));
  return drive;
}

describe("runs of pipelines", () => {
  it("that have ended are dropped from the pipeline with the most", () => {
    // The only step is left out, so a run ends at once.
    const drive = pipelines(
      "busy params=date:none,go:no | gate approval when=go==yes",
      "rare params=go:no | gate approval when=go==yes",
    );
    drive.receive(run("rare"));
    drive.receive(run("busy", dates(ENDED_RUNS_KEPT + 5)));
    const { state } = drive.engine;
    expect(state.pipelineRuns.size).toBe(ENDED_RUNS_KEPT);
    const ids = [...state.pipelineRuns.values()].map(({ id, pipeline }) => `${id} ${pipeline.name}`);
    expect(ids.slice(0, 2)).toEqual(["p1 rare", "p8 busy"]);
    checkInvariants(drive.engine);
  });

  it("of a backfill do not count as triggered ones", () => {
    const drive = pipelines("daily params=date:none webhook runsAtOnce=1 | gate approval");
    drive.receive(run("daily", dates(TRIGGERED_RUNS_MAX + 5)));
    expect(drive.receive(hook("daily", "one")).replies[0]).toMatchObject({ kind: "accepted" });
    const keys = Array.from({ length: TRIGGERED_RUNS_MAX }, (_, at) => hook("daily", `more-${at}`));
    expect(drive.receive(...keys).replies.at(-1)).toMatchObject({
      rejection: { code: "tooManyPipelines", count: TRIGGERED_RUNS_MAX },
    });
    expect([...drive.engine.state.pipelineRuns.values()].every(isRunOpen)).toBe(true);
  });

  it("of an earlier pipeline of another team do not answer its webhook", () => {
    const drive = pipelines("deploy webhook | gate approval");
    drive.receive(applied({ teams: [team("other")] }));
    drive.receive(hook("deploy", "delivery-1"));
    expect(drive.receive(hook("deploy", "delivery-1")).replies[0]).toMatchObject({ result: { runIds: ["p1"] } });
    drive.receive(command({ kind: "removePipeline", name: "deploy" }));
    drive.receive(applied({ pipelines: [pipelineOf("deploy team=other webhook | gate approval")] }));
    expect(drive.receive(hook("deploy", "delivery-1")).replies[0]).toMatchObject({ result: { runIds: ["p2"] } });
  });
});
