/** Short builders for the inputs of the recorded journal. */
import { attemptId } from "@headroom/model";
import type { Command, Input, WorkerExit } from "@headroom/model";
import { command, spec } from "../lab/make.ts";

export const submit = (name: string, changes: Parameters<typeof spec>[1] = {}, key: string | null = null): Command =>
  command({ kind: "submitWorkload", spec: spec(name, changes) }, key);

export const exited = (id: string, ...exits: readonly WorkerExit[]): Input => ({
  kind: "attemptExited",
  attemptId: attemptId(id),
  exits,
});

export const code = (worker: number, value: number): WorkerExit => ({ kind: "exited", worker, code: value });

export const running = (id: string): Input => ({ kind: "attemptRunning", attemptId: attemptId(id) });
