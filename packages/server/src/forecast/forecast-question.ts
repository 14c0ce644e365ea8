/** Kinds of forecast questions, and their answers. */
import type { ScaleCommand } from "@headroom/autoscale";
import type { ApplyDocuments, Engine } from "@headroom/engine";
import type { WorkloadChanges, WorkloadId, WorkloadSpec } from "@headroom/model";
import type {
  AdviceQuery,
  Defragmentation,
  DrillForecast,
  ExpectedStart,
  QueryFor,
  OrderAdvice,
  Page,
  StartEstimate,
  StartingChanges,
  WhatIfAnswer,
} from "@headroom/protocol";
import type { WhatIfChange, WhatIfOptions } from "@headroom/sim";
import type { ApplyForecastView, ChangeForecastView, ForecastView, ReadableTeams } from "@headroom/views";

export type ForecastQuestion =
  | { readonly kind: "changes"; readonly id: string }
  | { readonly kind: "estimate"; readonly id: string }
  | { readonly kind: "estimates"; readonly query: QueryFor<"expectedStarts">; readonly readable: ReadableTeams }
  | { readonly kind: "defragmentation" }
  | { readonly kind: "orderAdvice"; readonly query: AdviceQuery }
  | { readonly kind: "forecast"; readonly spec: WorkloadSpec; readonly actor: string }
  | {
      readonly kind: "changeWorkload";
      readonly id: WorkloadId;
      readonly changes: WorkloadChanges;
      readonly actor: string;
    }
  | { readonly kind: "apply"; readonly documents: ApplyDocuments; readonly actor: string }
  /** Which of the commands, each alone, would give a place to an endpoint that waits for its first replica. */
  | { readonly kind: "makesRoom"; readonly waiting: WorkloadId; readonly commands: readonly ScaleCommand[] }
  | { readonly kind: "drill"; readonly nodes: readonly string[]; readonly forMs: number }
  | ({ readonly kind: "whatIf"; readonly change: WhatIfChange } & Pick<WhatIfOptions, "horizonMs" | "arrivals">);

export interface ForecastAnswers {
  /** `null`: the workload does not exist. */
  readonly changes: StartingChanges | null;
  /** `null`: the workload does not wait to start. */
  readonly estimate: StartEstimate | null;
  /** `null`: the cursor is unknown. */
  readonly estimates: Page<ExpectedStart> | null;
  readonly defragmentation: Defragmentation;
  readonly orderAdvice: OrderAdvice;
  readonly forecast: ForecastView;
  readonly changeWorkload: ChangeForecastView;
  readonly apply: ApplyForecastView;
  /** Position of the first one; `null`: none. */
  readonly makesRoom: number | null;
  readonly drill: DrillForecast;
  readonly whatIf: WhatIfAnswer;
}

/** A question that depends on the state to simulate, so that both come from one read. The function throws refusals. */
export type QuestionOfState<Question extends ForecastQuestion = ForecastQuestion> = (engine: Engine) => Question;

/** A question, with the state that it is about. */
export interface ForecastRequest {
  readonly question: ForecastQuestion;
  readonly snapshot: Uint8Array;
  readonly nowMs: number;
}

export interface ForecastReply {
  readonly outcome: ForecastOutcome;
  /** Bytes of heap that the thread holds after the answer. */
  readonly heapBytes: number;
}

export type ForecastOutcome =
  | { readonly kind: "answered"; readonly answer: ForecastAnswers[ForecastQuestion["kind"]] }
  | { readonly kind: "failed"; readonly message: string };
