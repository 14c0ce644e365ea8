/** Part of the recorded journal: artifacts that are registered, made, moved, held, deleted and restored. */
import { teamName } from "@headroom/model";
import type { ArtifactChange, ArtifactName, Command } from "@headroom/model";
import type { Drive } from "../lab/drive.ts";
import { command } from "../lab/make.ts";
import { running, submit } from "./life-lines.ts";

const text: ArtifactName = { kind: "dataset", team: teamName("default"), name: "text" };
const chat: ArtifactName = { kind: "model", team: teamName("default"), name: "chat" };
const place = { store: "local", uri: "/data/text", state: "declared" } as const;

const register = (artifact: ArtifactName): Command =>
  command({
    kind: "registerArtifact",
    artifact: { ...artifact, digest: null, bytes: 12, rule: "open", places: [place], inputs: ["s3://lake/raw"] },
    aliases: ["current"],
    reason: "import",
  });
const change = (artifact: ArtifactName, made: ArtifactChange): Command =>
  command({ kind: "changeArtifact", artifact, change: made, reason: "why" });

/** A dataset is registered, and a workload that makes a model from it runs. */
export function beginArtifacts(drive: Drive): void {
  drive.receive(register(text));
  drive.receive(
    submit("makes a model", {
      gang: { accelerators: 0, workers: 1 },
      acceleratorTypes: [],
      data: { inputs: ["dataset:text@current"] },
      produces: ["model:chat", "report:chat"],
    }),
  );
  const test = { metric: "rows", operator: "ge", value: 10 } as const;
  drive.receive(change(text, { kind: "gate", alias: "checked", gate: { test, approval: true } }));
  drive.receive(change(text, { kind: "tags", number: 1, tags: { language: "en" } }));
}

/** The model is registered, and every kind of change is made. */
export function endArtifacts(drive: Drive): void {
  const workload = [...drive.engine.state.workloads.values()].find(({ spec: { name } }) => name === "makes a model");
  const attemptId = workload?.activeAttempts[0];
  if (attemptId === undefined) throw new Error("the workload that makes a model has no attempt");
  drive.receive(running(attemptId));
  const made = { name: "model:chat", path: "/models/chat", digest: `sha256:${"0".repeat(64)}`, bytes: 34 };
  drive.receive({
    kind: "attemptExited",
    attemptId,
    exits: [{ worker: 0, kind: "exited", code: 0 }],
    artifacts: [{ ...made, metrics: { loss: 1.5 }, parameters: { layers: "2" } }],
  });
  const changes: readonly ArtifactChange[] = [
    { kind: "alias", alias: "production", number: 1 },
    { kind: "place", number: 1, place: { store: "lake", uri: "s3://models/chat", state: "verified" } },
    { kind: "hold", number: 1 },
    { kind: "release", number: 1 },
    { kind: "alias", alias: "production", number: null },
    { kind: "delete", number: 1 },
    { kind: "restore", number: 1 },
    { kind: "retention", keepVersions: 3 },
    { kind: "gate", alias: "best", gate: { test: { metric: "loss", operator: "lt", value: null } } },
    { kind: "gate", alias: "production", gate: { approval: true } },
    { kind: "gate", alias: "production", gate: null },
  ];
  for (const each of changes) drive.receive(change(chat, each));
}
