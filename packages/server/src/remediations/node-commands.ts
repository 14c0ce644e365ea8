/**
 * The commands of a remediation on one node: read its facts, measure it, change it. Words of the operator's document with
 * `{node}` replaced; no shell reads them, and a name that could be an option is refused.
 */
import { OperationalError, runCommand } from "@headroom/platform";
import type { CommandOutput } from "@headroom/platform";
import { z } from "zod";
import type { RemediationDocument } from "./remediation-file.ts";

/** Time limit of commands that only read. */
const READ_TIMEOUT_MS = 60_000;
/** A measurement takes at most the three minutes of a qualification, and as much to begin. */
const TEST_TIMEOUT_MS = 360_000;
const FACTS_MAX = 1_000;
/** Output of a command that only reads. The programs of a node write it, so it is not trusted. */
const READ_BYTES_MAX = 1024 * 1024;
const VALUE_CHARS_MAX = 500;
const REASON_CHARS_MAX = 300;
const PASSED_ON = ["PATH", "HOME", "LANG", "TZ", "SSH_AUTH_SOCK"];
/** Names of hosts. The first character keeps a name from being an option. */
const NODE_NAME = /^[A-Za-z0-9][-_.A-Za-z0-9]{0,252}$/;

const facts = z.record(z.string().min(1).max(200), z.union([z.string(), z.number(), z.boolean(), z.null()]));

/** The facts that a node states. Throws `nodeUnreadable` if the command fails or prints no JSON object. */
export async function readFacts(
  document: RemediationDocument,
  node: string,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, string>> {
  const { code, stdout, stderr } = await run(document, document.facts, node, {
    timeoutMs: READ_TIMEOUT_MS,
    outputMaxBytes: READ_BYTES_MAX,
    signal,
  });
  if (code !== 0) throw unreadable(`the facts command ended with code ${code}: ${plain(stderr)}`);
  const reading = facts.safeParse(parsed(stdout));
  if (!reading.success) throw unreadable("the facts command did not print one JSON object of plain values");
  const entries = Object.entries(reading.data);
  if (entries.length > FACTS_MAX) throw unreadable(`the facts command printed more than ${FACTS_MAX} facts`);
  return new Map(
    entries.flatMap(([name, value]): [string, string][] =>
      value === null ? [] : [[name, String(value).slice(0, VALUE_CHARS_MAX)]],
    ),
  );
}

/** The performance of a node, more is better. */
export async function measure(
  document: RemediationDocument,
  words: readonly string[],
  { node, signal }: { readonly node: string; readonly signal: AbortSignal },
): Promise<number> {
  const { code, stdout, stderr } = await run(document, words, node, {
    timeoutMs: TEST_TIMEOUT_MS,
    outputMaxBytes: READ_BYTES_MAX,
    signal,
  });
  if (code !== 0) throw unreadable(`the test ended with code ${code}: ${plain(stderr)}`);
  const value = Number(stdout.trim());
  if (stdout.trim() === "" || !Number.isFinite(value) || value < 0) throw unreadable("the test did not print a number");
  return value;
}

/** Changes a node. Throws `nodeUnchanged` if the command fails or exceeds its time limit. */
export async function change(document: RemediationDocument, node: string, signal: AbortSignal): Promise<void> {
  const words = document.command ?? ansibleWords(document);
  await refuseGroups(document, { node, signal });
  const { code, stdout, stderr } = await run(document, words, node, { timeoutMs: document.timeout, signal });
  if (code === 0) return;
  // Ansible prints failures of tasks on its standard output.
  const reason = plain(stderr === "" ? stdout.slice(-2 * REASON_CHARS_MAX) : stderr);
  throw new OperationalError("nodeUnchanged", `the command ended with code ${code}: ${reason}`);
}

function ansibleWords({ ansible }: RemediationDocument): readonly string[] {
  if (ansible === undefined) throw new OperationalError("nodeUnchanged", "the document has no command");
  const { playbook, inventory, connection, vars } = ansible;
  return [
    "ansible-playbook",
    ...(inventory === undefined ? ["--inventory", "{node},"] : ["--inventory", inventory, "--limit", "{node}"]),
    ...(connection === "local" ? ["--connection", "local"] : []),
    ...(Object.keys(vars).length === 0 ? [] : ["--extra-vars", JSON.stringify(vars)]),
    playbook,
  ];
}

/** `--limit` reads a name as a pattern. A node that has the name of a group would stand for all hosts of the group. */
async function refuseGroups(
  document: RemediationDocument,
  { node, signal }: { readonly node: string; readonly signal: AbortSignal },
): Promise<void> {
  const inventory = document.ansible?.inventory;
  if (inventory === undefined) return;
  const words = ["ansible", "--inventory", inventory, "--list-hosts", "{node}"];
  const limits = { timeoutMs: READ_TIMEOUT_MS, outputMaxBytes: READ_BYTES_MAX, signal };
  const { code, stdout, stderr } = await run(document, words, node, limits);
  const [head = "", ...hosts] = stdout
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
  if (code === 0 && head === "hosts (1):" && hosts.length === 1 && hosts[0] === node) return;
  const found = code === 0 ? `it stands for ${plain([head, ...hosts].join(" "))}` : plain(stderr);
  throw new OperationalError("nodeUnchanged", `${node} is not exactly one host of ${inventory}: ${found}`);
}

async function run(
  { env }: RemediationDocument,
  words: readonly string[],
  node: string,
  limits: { readonly timeoutMs: number; readonly outputMaxBytes?: number; readonly signal: AbortSignal },
): Promise<CommandOutput> {
  if (!NODE_NAME.test(node)) throw unreadable("the name of the node is no name of a host");
  const [file = "", ...rest] = words.map((word) => word.replaceAll("{node}", node));
  return runCommand(file, rest, { ...limits, env: { ...passedOn(), ...env, HEADROOM_NODE: node } });
}

const passedOn = (): Record<string, string> =>
  Object.fromEntries(PASSED_ON.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])));

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Text of a command without control characters, shortened. */
const plain = (text: string): string =>
  text
    .replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, " ")
    .trim()
    .slice(-REASON_CHARS_MAX);

const unreadable = (reason: string): OperationalError => new OperationalError("nodeUnreadable", reason);
