/**
 * Commands that users run inside workers (`headroom exec`, `headroom shell`). Starting one opens a session; its output is
 * one stream, and its input comes in further requests. The session ends with its command, its attempt or its reader.
 */
import { z } from "zod";
import { count, limits } from "@headroom/spec";

/** Longest command, over all its words. It is recorded in the journal. */
const COMMAND_CHARS_MAX = 8_192;
const COMMAND_WORDS_MAX = 1_000;
/** Input of one request, in bytes. Longer input comes in several requests. */
export const EXEC_INPUT_BYTES_MAX = 65_536;
const BASE64_CHARS_MAX = Math.ceil(EXEC_INPUT_BYTES_MAX / 3) * 4;
const DIMENSION_MAX = 1_000;

const dimension = z.int().min(1).max(DIMENSION_MAX);
const terminalSize = z.strictObject({ rows: dimension, columns: dimension }).meta({ id: "TerminalSize" });

export const execRequest = z
  .strictObject({
    task: z
      .int()
      .min(0)
      .max(limits.TASKS_MAX - 1)
      .optional()
      .meta({
        description: "Task of an array; absent: the attempt that was placed last.",
      }),
    worker: z
      .int()
      .min(0)
      .max(limits.WORKERS_MAX - 1)
      .default(0)
      .meta({ description: "Rank of the worker." }),
    command: z
      .array(z.string().regex(/^[^\0]*$/, { message: "must not contain a NUL" }))
      .max(COMMAND_WORDS_MAX)
      .refine((words) => words.join(" ").length <= COMMAND_CHARS_MAX, {
        message: `must have at most ${COMMAND_CHARS_MAX} characters`,
      })
      .meta({ description: "Words of the command, which no shell interprets; empty: the shell of the user." }),
    terminal: terminalSize
      .extend({
        type: z
          .string()
          .regex(/^[A-Za-z0-9][A-Za-z0-9._+-]{0,63}$/)
          .meta({ description: "As in TERM." }),
      })
      .optional()
      .meta({ description: "The command gets a terminal of this size; absent: its input and output are pipes." }),
    endWorkload: z.literal(true).optional().meta({
      description: "Stop the workload when the session ends, as an interactive allocation does.",
    }),
  })
  .meta({ id: "ExecRequest" });

export const execStarted = z
  .object({
    id: z.string().meta({ description: "The session. It ends if its output is not read within 15 s." }),
    attemptId: z.string(),
    task: count,
    worker: count,
    node: z.string(),
  })
  .meta({ id: "ExecStarted" });

export const execOutput = z
  .union([
    z.object({
      stream: z.enum(["stdout", "stderr"]),
      data: z.string().meta({ description: "Bytes in base64. With a terminal, all output is stdout." }),
    }),
    z.object({
      exitCode: z.int().meta({ description: "128 + n: signal n ended the command, or its attempt ended first." }),
    }),
  ])
  .meta({ id: "ExecOutput" });

export const execInput = z
  .strictObject({
    data: z
      .base64()
      .max(BASE64_CHARS_MAX)
      .optional()
      .meta({ description: `Bytes in base64, at most ${EXEC_INPUT_BYTES_MAX}.` }),
    end: z.literal(true).optional().meta({ description: "The input ends after `data`." }),
    size: terminalSize.optional().meta({ description: "New size of the terminal." }),
  })
  .meta({ id: "ExecInput" });

export const execAccepted = z.object({ id: z.string() }).meta({ id: "ExecAccepted" });

export type ExecRequest = z.output<typeof execRequest>;
export type ExecRequestInput = z.input<typeof execRequest>;
export type ExecStarted = z.output<typeof execStarted>;
export type ExecOutput = z.output<typeof execOutput>;
export type ExecInput = z.output<typeof execInput>;
export type ExecAccepted = z.output<typeof execAccepted>;
