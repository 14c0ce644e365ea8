/**
 * The marker of a running control plane: a file that says at which event it is and what it decides. An orderly stop
 * removes it. If the process died, the next start reads from it where, and whether the one before died there too. The
 * file is not synced: it must outlive the process, not the machine.
 */
import { closeSync, openSync, readFileSync, rmSync, writeSync } from "node:fs";
import path from "node:path";
import type { Input } from "@headroom/model";

/** Constant length of the file in bytes, so that one write replaces all of it. */
const RECORD_BYTES = 2_048;
/** Maximum number of characters of the command in the file. */
const COMMAND_TEXT_MAX = 200;
/** Number of events within which two deaths count as one place: a start records events of its own before it dies. */
const PLACE_EVENTS = 4_096;
/** Deaths at one place after which a start says so. */
const DEATHS_TOLD = 2;

/** The work of the process when it wrote the marker; `idle` is every wait for input. */
type Stage = "reading" | "deciding" | "idle";

interface MarkerRecord {
  readonly stage: Stage;
  readonly atMs: number;
  /** Newest durable event. */
  readonly sequence: number;
  /** The newest command that a process decided, in words; `null`: none so far. */
  readonly command: string | null;
  /** Inputs of the batch in progress, in words. */
  readonly inputs: string;
  /** Deaths before this process in a row at about the event `place`. */
  readonly deaths: number;
  readonly place: number;
}

/** Where earlier processes died; `null`: the last one stopped in order, or died while it waited for input. */
export interface EarlierDeaths {
  readonly count: number;
  readonly last: Pick<MarkerRecord, "stage" | "atMs" | "sequence" | "command" | "inputs">;
}

export class StartMarker {
  readonly #file: string;
  readonly #nowMs: () => number;
  #descriptor: number | null = null;
  #command: string | null = null;
  /** Content of the file before this process, which a start that fails in order puts back. */
  #before: string | null = null;
  earlier: EarlierDeaths | null = null;
  #place = 0;

  constructor(home: string, nowMs: () => number) {
    this.#file = path.join(home, "running.json");
    this.#nowMs = nowMs;
  }

  /** Reads what the last process left, and writes the marker of this one. Call it while the journal is locked. */
  begin(): EarlierDeaths | null {
    this.#before = readText(this.#file);
    const last = this.#before === null ? null : recordOf(this.#before);
    this.#command = last?.command ?? null;
    if (last !== null && last.stage !== "idle") {
      const isSamePlace = last.deaths > 0 && Math.abs(last.sequence - last.place) <= PLACE_EVENTS;
      this.earlier = { count: isSamePlace ? last.deaths + 1 : 1, last };
      this.#place = last.sequence;
    }
    this.#descriptor = openSync(this.#file, "w", 0o600);
    this.#write("reading", last?.sequence ?? 0, "");
    return this.earlier;
  }

  deciding(sequence: number, inputs: readonly Input[]): void {
    const text = inputsText(inputs);
    this.#command = text.command ?? this.#command;
    this.#write("deciding", sequence, text.inputs);
  }

  idle(sequence: number): void {
    this.#write("idle", sequence, "");
  }

  /** Ends the marker. `hasStarted` is false after a start that failed in order: the next start must know as much. */
  end(hasStarted: boolean): void {
    if (this.#descriptor === null) return;
    if (!hasStarted && this.#before !== null) writeSync(this.#descriptor, this.#before, 0);
    closeSync(this.#descriptor);
    this.#descriptor = null;
    if (hasStarted || this.#before === null) rmSync(this.#file, { force: true });
  }

  #write(stage: Stage, sequence: number, inputs: string): void {
    if (this.#descriptor === null) return;
    const record: MarkerRecord = {
      stage,
      atMs: this.#nowMs(),
      sequence,
      command: this.#command,
      inputs,
      deaths: this.earlier?.count ?? 0,
      place: this.#place,
    };
    const bytes = Buffer.alloc(RECORD_BYTES, " ");
    bytes.write(JSON.stringify(record));
    writeSync(this.#descriptor, bytes, 0, RECORD_BYTES, 0);
  }
}

/** The warning for the operator about deaths at one place; `null`: there were fewer than two. */
export function deathsText(earlier: EarlierDeaths | null): string | null {
  if (earlier === null || earlier.count < DEATHS_TOLD) return null;
  const { count, last } = earlier;
  const what = `The control plane ended ${count} times in a row without an orderly stop near event ${last.sequence} of its journal, last at ${new Date(last.atMs).toISOString()}`;
  if (last.stage === "reading")
    return `${what}, while it read the journal. If the memory did not suffice, start it with NODE_OPTIONS=--max-old-space-size=8192. Otherwise restore a backup.`;
  const command = last.command === null ? "" : ` The newest command before was ${last.command}.`;
  return (
    `${what}, while it decided ${last.inputs}.${command} If it ends again, start it with \`headroom up --safe\`: it then decides ` +
    "and launches nothing, but workloads can be stopped. Stop the workload of that command, and start it without --safe."
  );
}

function readText(file: string): string | null {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return null;
  }
}

/** The record in the text; `null`: it has none, for example after a power cut. */
function recordOf(text: string): MarkerRecord | null {
  try {
    const record = JSON.parse(text) as Partial<MarkerRecord> | null;
    const { stage, sequence, atMs, deaths, place, command, inputs } = record ?? {};
    const isStage = stage === "reading" || stage === "deciding" || stage === "idle";
    if (!isStage || ![sequence, atMs, deaths, place].every(Number.isSafeInteger)) return null;
    if (typeof inputs !== "string" || (command !== null && typeof command !== "string")) return null;
    return record as MarkerRecord;
  } catch {
    return null;
  }
}

interface InputsText {
  /** The newest command of the batch; `null`: it has none. */
  readonly command: string | null;
  readonly inputs: string;
}

function inputsText(inputs: readonly Input[]): InputsText {
  let command: string | null = null;
  let commandCount = 0;
  for (const input of inputs) {
    if (!("commandId" in input)) continue;
    commandCount++;
    const subject = subjectOf(input);
    command = `${input.kind}${subject === null ? "" : ` ${JSON.stringify(subject)}`} by ${input.actor}`;
  }
  command = command?.slice(0, COMMAND_TEXT_MAX) ?? null;
  if (commandCount > 1) return { command, inputs: `${commandCount} commands` };
  return { command, inputs: command ?? (inputs.length > 1 ? `${inputs.length} reports` : "a round") };
}

function subjectOf(input: Extract<Input, { readonly commandId: unknown }>): string | null {
  if (input.kind === "submitWorkload") return input.spec.name;
  if (input.kind === "apply") return input.workloads.map(({ name }) => name).join(", ") || null;
  return "workloadId" in input ? input.workloadId : null;
}
