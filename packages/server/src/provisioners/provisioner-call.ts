/**
 * One call of a provisioner: a command that gets the request as JSON on its standard input and prints its answer as
 * JSON. The contract is in docs/reference/provisioners.md. An answer that is empty, cut or invalid is an error, and an
 * error says nothing about machines.
 */
import { runCommand } from "@headroom/platform";
import { OperationalError } from "@headroom/platform";
import { z } from "zod";
import { readSecret } from "../executors/secret-references.ts";
import type { Provisioner } from "./provisioner-file.ts";

type ProvisionerVerb = "create" | "state" | "release";

/** The order as a provisioner sees it. `id` is the same in all calls about the order. */
export interface OrderRequestBody {
  readonly id: string;
  readonly pool: string;
  readonly count: number;
  readonly acceleratorType: string;
  readonly accelerators: number;
  readonly cores: number;
  readonly memoryMib: number;
  /** For `release`: machines to stop; `all`: every machine of the order. */
  readonly release?: readonly string[] | "all";
}

const machineName = z.string().regex(/^[A-Za-z0-9]([-_.A-Za-z0-9]{0,252})$/);
const machines = z.array(machineName).max(10_000);

/** Instants that the engine and its API can name. */
const isInstant = (text: string): boolean => Date.parse(text) >= 0 && Date.parse(text) < Date.UTC(9999, 0);

const answer = z.object({
  state: z.enum(["unknown", "ordered", "arriving", "failed", "gone"]),
  reason: z.string().max(10_000).default(""),
  nodes: machines.optional(),
  released: machines.optional(),
  expectedAt: z.iso.datetime({ offset: true }).refine(isInstant, "is before 1970 or after 9998").optional(),
  /** USD for one accelerator and hour. */
  pricePerHour: z.number().min(0).max(1_000_000).optional(),
});

export type ProvisionerAnswer = z.output<typeof answer>;

const REASON_CHARS_MAX = 300;
/** Variables of the control plane that commands get: enough to find programs and their configuration. */
const PASSED_ON = ["PATH", "HOME", "LANG", "TZ"];

export async function callProvisioner(
  { command, env, secrets, timeoutSeconds }: Provisioner,
  verb: ProvisionerVerb,
  order: OrderRequestBody,
): Promise<ProvisionerAnswer> {
  const [file = "", ...words] = command;
  const { code, stdout, stderr } = await runCommand(file, [...words, verb], {
    timeoutMs: timeoutSeconds * 1_000,
    env: { ...passedOn(), ...env, ...secretsOf(secrets), HEADROOM_ORDER: order.id },
    input: `${JSON.stringify({ verb, order })}\n`,
  });
  if (code !== 0) throw unusable(`it ended with code ${code}: ${plain(stderr)}`);
  let value: unknown;
  try {
    value = JSON.parse(stdout);
  } catch {
    throw unusable(stdout.trim() === "" ? "it printed nothing" : "it did not print one JSON value");
  }
  const reading = answer.safeParse(value);
  if (!reading.success) {
    const [issue] = reading.error.issues;
    throw unusable(`its answer is not valid: ${issue?.path.join(".") ?? ""}: ${issue?.message ?? ""}`);
  }
  return { ...reading.data, reason: plain(reading.data.reason) };
}

const passedOn = (): Record<string, string> =>
  Object.fromEntries(PASSED_ON.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])));

const secretsOf = (secrets: Provisioner["secrets"]): Record<string, string> =>
  Object.fromEntries(Object.entries(secrets).map(([name, reference]) => [name, readSecret(reference)]));

/** Text of a command without control characters, shortened. */
const plain = (text: string): string =>
  text
    .replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, " ")
    .trim()
    .slice(0, REASON_CHARS_MAX);

const unusable = (reason: string): OperationalError =>
  new OperationalError("provisionerUnusable", `The provisioner gave no answer: ${reason}.`, { retryable: true });
