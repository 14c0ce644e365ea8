/**
 * Recorded inputs that do not depend on the policy: commands and changes of nodes. Reports about attempts are left out,
 * because they depend on the attempts that the policy started.
 */
import { commandId } from "@headroom/model";
import type { AfterSpec, Command, CommandId, Input, Policy, Team, WorkloadId, WorkloadSpec } from "@headroom/model";

export interface RecordedRound {
  readonly atMs: number;
  readonly inputs: readonly Input[];
}

export interface OutsideInput {
  readonly atMs: number;
  readonly input: Input;
}

/** Changes of a replay, compared with the record. */
export interface ReplayChange {
  /** Policy for the whole window, which replaces all recorded policies; `null`: the recorded ones. */
  readonly policy: Policy | null;
  /** Teams for the whole window, which replace recorded definitions. */
  readonly teams: readonly Team[];
}

export function outsideInputs({ atMs, inputs }: RecordedRound): readonly OutsideInput[] {
  return inputs.filter(isFromOutside).map((input) => ({ atMs, input }));
}

function isFromOutside(input: Input): boolean {
  switch (input.kind) {
    case "attemptRunning":
    case "replicaReady":
    case "replicaNotReady":
    case "attemptExited":
    case "attemptLost":
    case "workersLeft":
    case "workersJoined":
    case "joinFailed":
    case "progressReported":
    case "estimatesReported":
    case "idleChangesReported":
    case "checkpointReported":
    case "checkpointStored":
    case "utilizationReported":
    case "artifactReported":
    case "stepTimesReported":
    case "tick":
    case "noRound":
      return false;
    default:
      return true;
  }
}

/**
 * The recorded input in the form for this timeline; `null`: it is omitted. `idOf` maps a recorded id to this timeline's
 * id.
 */
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
    case "changeWorkload": {
      const workloadId = idOf(input.workloadId);
      const { changes } = input;
      if (workloadId === null || changes.after === undefined)
        return workloadId === null ? null : { ...input, workloadId };
      return { ...input, workloadId, changes: { ...changes, after: withOwnIds(changes.after, idOf) } };
    }
    case "scaleEndpoint": {
      // Replicas of this timeline are other attempts.
      const workloadId = idOf(input.workloadId);
      return workloadId === null ? null : { ...input, workloadId, stopFirst: [] };
    }
    case "chargeOverflow":
    case "steerRollout": {
      const workloadId = idOf(input.workloadId);
      return workloadId === null ? null : { ...input, workloadId };
    }
    case "startExec":
      // The simulated attempts have no processes.
      return null;
    case "removeNode":
    case "removePool":
    case "removeSite":
      // The machines left, whatever runs on them in this timeline.
      return { ...input, running: "requeue" };
    case "stopTask":
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

/** Translates the workload ids in dependencies. */
function withIds(spec: WorkloadSpec, idOf: (recorded: string) => WorkloadId | null): WorkloadSpec {
  if (spec.after === undefined) return spec;
  return { ...spec, after: withOwnIds(spec.after, idOf) };
}

const withOwnIds = (after: readonly AfterSpec[], idOf: (recorded: string) => WorkloadId | null): readonly AfterSpec[] =>
  after.map((each) =>
    each.workload === undefined ? each : { ...each, workload: idOf(each.workload) ?? each.workload },
  );

export const CHANGE_COMMAND: CommandId = commandId("replay");

export function changeInputs({ policy, teams }: ReplayChange): readonly Command[] {
  const by = { actor: "replay", idempotencyKey: null, commandId: CHANGE_COMMAND };
  const commands: Command[] = [];
  if (teams.length > 0) commands.push({ ...by, kind: "apply", sites: [], pools: [], teams, workloads: [] });
  if (policy !== null) commands.push({ ...by, kind: "setPolicy", policy });
  return commands;
}
