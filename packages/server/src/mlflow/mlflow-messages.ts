/** Messages between the control plane and the thread with MLflow's database. */
import type { CallContext, MlflowCallName } from "./calls.ts";
import type { FieldSource } from "./fields.ts";
import type { InnerCallName } from "./handlers.ts";
import type { AttemptPoints } from "./run-data.ts";

export interface MlflowThreadData {
  readonly file: string;
  readonly nowMs: number;
}

export type MlflowRequest =
  | {
      readonly kind: "call";
      readonly call: MlflowCallName | InnerCallName;
      readonly values: unknown;
      readonly source: FieldSource;
      readonly context: CallContext;
    }
  | { readonly kind: "close" };

export interface MlflowAnswer {
  readonly status: number;
  /** JSON text. */
  readonly body: string;
  /** Points of metrics for the curves of an attempt. */
  readonly logged?: AttemptPoints | null;
  /** A bug, for the log. */
  readonly problem?: string;
}
