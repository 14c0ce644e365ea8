/** The file and the options of `up`, without a start. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { headroom } from "../testing/recorded-terminal.ts";
import { optionProperty, upOptions, upSettings } from "./up-settings.ts";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "headroom-config-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

async function checked(text: string, options: readonly string[] = [], env: Record<string, string> = {}) {
  writeFileSync(path.join(folder, "headroom.yaml"), text);
  const args = ["up", "--config", "headroom.yaml", "--check-config", ...options];
  const { code, stdout, stderr } = await headroom(args, { workingDirectory: folder, env });
  return { code, text: `${stdout}${stderr}` };
}

it("accepts every setting, and the options override them", async () => {
  writeFileSync(path.join(folder, "token"), "x".repeat(40), { mode: 0o600 });
  const text = `
home: state
quickstart: false
console: false
port: 7070
host: 0.0.0.0
hostNames: [headroom.example]
insecure: false
token: { file: token }
slots: 4
nodes: 2
acceptJournalLoss: false
`;
  expect((await checked(text)).text).toContain("Without TLS, others on the network can read the token");
  expect(await checked(text, ["--host", "127.0.0.1"])).toEqual({
    code: 0,
    text: "headroom.yaml is valid: 11 settings.\n",
  });
  expect((await checked(text, ["--insecure"])).text).toContain("warning: 0.0.0.0 can be reached");
});

describe("refuses, with line and column,", () => {
  it.each([
    ["prot: 7070", "headroom.yaml:1:1: prot: unknown field; did you mean port?"],
    [
      "port: 7070\ntls: { certificat: a }",
      "headroom.yaml:2:8: tls.certificat: unknown field; did you mean certificate?",
    ],
    ["x-y-z: 1", "unknown field; the fields here are home, quickstart,"],
    ["port: 70700", "headroom.yaml:1:7: port: must be a whole number between 0 and 65535, got 70700"],
    ["port: '7070'", "port: must be a whole number"],
    ["nodes: 0", "nodes: must be a whole number between 1 and 1024"],
    ["console: no", "console: must be true or false"],
    ["hostNames: a.example", "hostNames: must be a list of texts"],
    ["tls: a.pem", "tls: must be an object"],
    ["tls: { certificate: a.pem }", "--tls-key (tls.key) is missing"],
    ["tls: { certificate: a.pem, key: a.key }", "TLS cannot use the certificate"],
    ["token: abcdefghijklmnopqrstuvwxyz0123456789", "the secret itself does not belong into this file"],
    ["token: { env: NO_SUCH_VARIABLE }", "there is no text in the environment variable NO_SUCH_VARIABLE"],
    ["token: { file: nothing }", "no such file"],
    ["- port", "the file must have fields"],
    ["port: 1\nport: 2", "the same field is given twice"],
  ])("%s", async (text, message) => {
    const outcome = await checked(text);
    expect(outcome.text).toContain(message);
    expect(outcome.code).not.toBe(0);
  });
});

it("each setting is an option, and its name follows from the field", () => {
  const names = upSettings.flatMap(({ flags }) => (flags === undefined ? [] : [optionProperty(flags)]));
  expect(upOptions()).toHaveLength(names.length);
  expect(names).toEqual(expect.arrayContaining(["console", "tlsKey", "hostName", "acceptJournalLoss"]));
  expect(new Set(upSettings.map(({ field }) => field)).size).toBe(upSettings.length);
});
