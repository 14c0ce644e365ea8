/**
 * Conversions between types of the API and types of the engine. Both are declared separately, because neither package
 * can import the other. Here the compiler proves that they are equal except for brands and `readonly`. None of these
 * functions changes a value.
 */
import type { ApplyDocuments } from "@headroom/engine";
import type {
  CalendarEntry as EngineEntry,
  Event,
  Policy as EnginePolicy,
  Schedule as EngineSchedule,
  Pool as EnginePool,
  Site as EngineSite,
  Team as EngineTeam,
  WorkloadSpec as EngineSpec,
} from "@headroom/model";
import type {
  ApplyRequest,
  CalendarEntry,
  Event as WireEvent,
  EventEnvelope,
  Policy,
  Schedule,
  Pool,
  Site,
  TeamSpec,
  WorkloadSpec,
} from "@headroom/protocol";

/** A type without brands and `readonly`, also in its fields. A branded string has a key that no other string has. */
type Plain<T> = T extends string
  ? keyof T extends keyof string
    ? T
    : string
  : T extends readonly unknown[]
    ? { -readonly [Index in keyof T]: Plain<T[Index]> }
    : T extends object
      ? { -readonly [Key in keyof T]: IsOptional<T, Key> extends true ? Plain<T[Key]> | undefined : Plain<T[Key]> }
      : T;

/** An optional field can also be `undefined`: JSON contains it in neither case. */
type IsOptional<T, Key extends keyof T> = object extends Pick<T, Key> ? true : false;

/** The only place where text of a request becomes an id. The engine refuses unknown ids. */
const branded = <T>(plain: Plain<T>): T => plain as unknown as T;

export function engineSpec(spec: WorkloadSpec): EngineSpec {
  const plain: Plain<EngineSpec> = spec;
  return branded<EngineSpec>(plain);
}

export function calendarEntryResource(entry: EngineEntry): CalendarEntry {
  const plain: Plain<EngineEntry> = JSON.parse(JSON.stringify(entry)) as Plain<EngineEntry>;
  return plain;
}

export function scheduleResource(schedule: EngineSchedule): Schedule {
  return JSON.parse(JSON.stringify(schedule)) as Plain<EngineSchedule>;
}

export function engineDocuments(request: ApplyRequest): ApplyDocuments {
  const plain: Plain<ApplyDocuments> = request;
  return branded<ApplyDocuments>(plain);
}

export function enginePolicy(policy: Policy): EnginePolicy {
  const plain: Plain<EnginePolicy> = policy;
  return branded<EnginePolicy>(plain);
}

export function policyResource(policy: EnginePolicy): Policy {
  return policy as Plain<EnginePolicy>;
}

/** Teams consist of plain JSON values, like specs. */
export function teamSpecResource(team: EngineTeam): TeamSpec {
  return JSON.parse(JSON.stringify(team)) as Plain<EngineTeam>;
}

export function siteResource(site: EngineSite): Site {
  return JSON.parse(JSON.stringify(site)) as Plain<EngineSite>;
}

export function poolResource(pool: EnginePool): Pool {
  return JSON.parse(JSON.stringify(pool)) as Plain<EnginePool>;
}

/** A copy, because results never share objects with the state. Specs consist of plain JSON values. */
export function specResource(spec: EngineSpec): WorkloadSpec {
  return JSON.parse(JSON.stringify(spec)) as WorkloadSpec;
}

export function eventEnvelope(sequence: number, event: Event): EventEnvelope {
  const plain: WireEvent = event as Plain<Event>;
  return { sequence, event: plain };
}
