/** Modified views of a state, through which engines with planted bugs see it. */
import type { Attempt, Input, Team, WorkloadSpec } from "@headroom/model";
import type { Ready, ReadonlyState } from "@headroom/engine";

export interface PlantedBug {
  readonly name: string;
  /** Pattern of the text in which the checker reports the bug. */
  readonly found: RegExp;
  readonly bendState?: (state: ReadonlyState) => ReadonlyState;
  readonly bendReady?: (ready: Ready, state: ReadonlyState) => Ready;
  readonly bendInputs?: (inputs: readonly Input[]) => readonly Input[];
  readonly bendSnapshot?: (text: string) => string;
}

/** The state with some fields replaced; getters still read the real state. */
export const view = (state: ReadonlyState, fields: Partial<ReadonlyState>): ReadonlyState =>
  Object.assign(Object.create(state) as ReadonlyState, fields);

export const withAll = <Key, Value>(
  all: ReadonlyMap<Key, Value>,
  bend: (value: Value) => Value,
): ReadonlyMap<Key, Value> => new Map([...all].map(([key, value]) => [key, bend(value)]));

export const withAttempts = (state: ReadonlyState, bend: (attempt: Attempt) => Attempt): ReadonlyState =>
  view(state, { attempts: withAll(state.attempts, bend) });

export const withTeams = (state: ReadonlyState, bend: (team: Team) => Team): ReadonlyState =>
  view(state, { teams: withAll(state.teams, bend) });

export const withSpecs = (state: ReadonlyState, bend: (spec: WorkloadSpec) => WorkloadSpec): ReadonlyState =>
  view(state, { workloads: withAll(state.workloads, (workload) => ({ ...workload, spec: bend(workload.spec) })) });
