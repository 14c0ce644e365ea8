/**
 * Makes one attempt to deliver one message: by a POST, as mail, or to a process that reads the message from its standard
 * input.
 */
import { spawn } from "node:child_process";
import { createHmac } from "node:crypto";
import { bodyOf } from "./formats.ts";
import { sendMail } from "./mail.ts";
import type { NotificationMessage } from "./message.ts";
import { routingKeyOf, webhookOf } from "./rules.ts";
import type { NotificationRule } from "./rules.ts";

const WEBHOOK_TIMEOUT_MS = 10_000;
const COMMAND_TIMEOUT_MS = 60_000;

/** Throws an error if the message was not delivered. */
export async function deliver(
  rule: NotificationRule,
  message: NotificationMessage,
  signal: AbortSignal,
): Promise<void> {
  const webhook = webhookOf(rule);
  if (webhook !== undefined)
    await post(webhook, rule.secret, bodyOf(rule.format ?? "json", message, routingKeyOf(rule)), signal);
  if (rule.command !== undefined) await runCommand(rule.command, JSON.stringify(message), signal);
  if (rule.mail !== undefined) await sendMail(rule.mail, message);
}

async function post(url: string, secret: string | undefined, body: string, signal: AbortSignal): Promise<void> {
  const signature =
    secret === undefined
      ? {}
      : { "x-headroom-signature": `sha256=${createHmac("sha256", secret).update(body).digest("hex")}` };
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", ...signature },
    body,
    redirect: "error",
    signal: AbortSignal.any([signal, AbortSignal.timeout(WEBHOOK_TIMEOUT_MS)]),
  });
  await response.body?.cancel();
  if (!response.ok) throw new Error(`${new URL(url).host} answered ${response.status}`);
}

function runCommand(command: string, body: string, signal: AbortSignal): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const child = spawn(command, { shell: true, detached: true, stdio: ["pipe", "ignore", "ignore"] });
  const kill = (): void => {
    // Kills the whole process group, because the command may have started other processes.
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, "SIGKILL");
  };
  const limit = setTimeout(kill, COMMAND_TIMEOUT_MS);
  signal.addEventListener("abort", kill, { once: true });
  // A command that does not read its input can close it early.
  child.stdin.on("error", () => undefined);
  child.stdin.end(body);
  child.once("error", reject);
  child.once("close", (code, signalName) => {
    clearTimeout(limit);
    signal.removeEventListener("abort", kill);
    if (code === 0) resolve();
    else reject(new Error(`the command ended with ${code === null ? String(signalName) : `code ${code}`}`));
  });
  return promise;
}
