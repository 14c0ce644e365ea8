/**
 * Recorded inputs that are independent of the policy: commands and changes of nodes. Reports about attempts are left
 * out, because they follow from what was started and when.
 */
import { commandId } from "@headroom/engine";
import type { Command, CommandId, Input, Policy, Team, WorkloadId, WorkloadSpec } from "@headroom/engine";

export interface RecordedRound {
  readonly atMs: number;
  readonly inputs: readonly Input[];
}

export interface OutsideInput {
  readonly atMs: number;
  readonly input: Input;
}

/** Differences of a replay from the record. */
export interface ReplayChange {
  /** Active for the whole window, whatever was set meanwhile; `null`: the recorded policies. */
  readonly policy: Policy | null;
  /** Teams for the whole window, whatever was declared meanwhile. */
  readonly teams: readonly Team[];
}

export function outsideInputs({ atMs, inputs }: RecordedRound): readonly OutsideInput[] {
  return inputs.filter(isFromOutside).map((input) => ({ atMs, input }));
}

function isFromOutside(input: Input): boolean {
  switch (input.kind) {
    case "attemptRunning":
    case "attemptExited":
    case "attemptLost":
    case "workersLeft":
    case "workersJoined":
    case "joinFailed":
    case "progressReported":
    case "estimatesReported":
    case "idleChangesReported":
    case "checkpointReported":
    case "utilizationReported":
    case "artifactReported":
    case "tick":
      return false;
    default:
      return true;
  }
}

/** The input for this timeline; `null`: it is omitted. `idOf` maps a recorded id to this timeline's. */
export function changedInput(
  input: Input,
  change: ReplayChange,
  idOf: (recorded: string) => WorkloadId | null,
): Input | null {
  switch (input.kind) {
    case "setPolicy":
      return change.policy === null ? input : null;
    case "submitWorkload":
      return { ...input, spec: withIds(input.spec, idOf) };
    case "apply": {
      const changed = new Map(change.teams.map((team) => [team.name, team]));
      return {
        ...input,
        teams: input.teams.map((team) => changed.get(team.name) ?? team),
        workloads: input.workloads.map((spec) => withIds(spec, idOf)),
      };
    }
    case "stopWorkload":
    case "holdWorkload":
    case "releaseWorkload":
    case "rerunWorkload": {
      const workloadId = idOf(input.workloadId);
      return workloadId === null ? null : { ...input, workloadId };
    }
    default:
      return input;
  }
}

/** A dependency may be named by id. */
function withIds(spec: WorkloadSpec, idOf: (recorded: string) => WorkloadId | null): WorkloadSpec {
  if (spec.after === undefined) return spec;
  const after = spec.after.map((each) =>
    each.workload === undefined ? each : { ...each, workload: idOf(each.workload) ?? each.workload },
  );
  return { ...spec, after };
}

export const CHANGE_COMMAND: CommandId = commandId("replay");

export function changeInputs({ policy, teams }: ReplayChange): readonly Command[] {
  const by = { actor: "replay", idempotencyKey: null, commandId: CHANGE_COMMAND };
  const commands: Command[] = [];
  if (teams.length > 0) commands.push({ ...by, kind: "apply", sites: [], pools: [], teams, workloads: [] });
  if (policy !== null) commands.push({ ...by, kind: "setPolicy", policy });
  return commands;
}
