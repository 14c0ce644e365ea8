/** Files and batches, with the fields of OpenAI's API. */

export interface StoredFile {
  readonly id: string;
  readonly object: "file";
  readonly bytes: number;
  readonly created_at: number;
  readonly filename: string;
  readonly purpose: string;
}

export type BatchStatus =
  | "in_progress"
  | "finalizing"
  | "completed"
  | "failed"
  | "cancelling"
  | "cancelled"
  | "expired";

export interface Batch {
  readonly id: string;
  readonly object: "batch";
  readonly endpoint: string;
  readonly input_file_id: string;
  readonly completion_window: string;
  readonly created_at: number;
  readonly expires_at: number;
  readonly metadata: unknown;
  /** Data rules of the key and of the headers with which it was created. Absent in batches of earlier releases. */
  readonly data_rules?: readonly string[];
  status: BatchStatus;
  output_file_id: string | null;
  error_file_id: string | null;
  /** Times in seconds of the changes of `status`, or null. */
  in_progress_at: number | null;
  completed_at: number | null;
  failed_at: number | null;
  expired_at: number | null;
  cancelling_at: number | null;
  cancelled_at: number | null;
  errors: { object: "list"; data: readonly { code: string; message: string; line: number | null }[] } | null;
  request_counts: { total: number; completed: number; failed: number };
}

const running: ReadonlySet<BatchStatus> = new Set<BatchStatus>(["in_progress", "finalizing", "cancelling"]);

export function isRunning(status: BatchStatus): boolean {
  return running.has(status);
}
