import { mkdirSync, mkdtempSync, rmdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { RunbookFile } from "./runbook-file.ts";

let home = "";
const complaints: string[] = [];
const write = (text: string): void => writeFileSync(path.join(home, "runbooks.yaml"), text);
beforeEach(() => {
  home = mkdtempSync(path.join(tmpdir(), "headroom-runbooks-"));
  complaints.length = 0;
});
afterEach(() => rmSync(home, { recursive: true }));

const GOOD = `kind: runbook
for: [xid-79, "slurm-*"]
text: Reseat the card, then prove the node.
---
kind: runbook
for: [stall]
url: https://wiki.example/stall
`;

describe("runbooks.yaml", () => {
  it("answers by code, beginning of a code, cause and kind, and follows the file", () => {
    const file = new RunbookFile(home, (message) => complaints.push(message));
    expect(file.reader()(["xid-79"])).toEqual([]);
    write(GOOD);
    const card = { text: "Reseat the card, then prove the node.", url: null };
    expect(file.reader()(["faults", "xid-79"])).toEqual([{ for: "xid-79", ...card }]);
    expect(file.reader()(["slurm-drain", "stall"])).toEqual([
      { for: "slurm-drain", ...card },
      { for: "stall", text: null, url: "https://wiki.example/stall" },
    ]);
    expect(file.reader()(["xid-7"])).toEqual([]);
    expect(complaints).toEqual([]);
  });

  it("keeps what it had if the file has a mistake, and says so once", () => {
    write(GOOD);
    const file = new RunbookFile(home, (message) => complaints.push(message));
    expect(file.reader()(["stall"])).toHaveLength(1);
    write(`${GOOD}---\nkind: runbook\nfor: [drift]\nurl: javascript:alert(1)\n`);
    expect([file.reader()(["stall"]), file.reader()(["drift"])]).toEqual([[expect.anything()], []]);
    expect(complaints).toEqual([expect.stringMatching(/document 3: url: /)]);
  });

  it("is looked at again after it could not be read", () => {
    const at = path.join(home, "runbooks.yaml");
    const file = new RunbookFile(home, (message) => complaints.push(message), 0);
    symlinkSync(at, at);
    for (const _look of [1, 2]) expect(file.reader()(["stall"])).toEqual([]);
    expect(complaints).toEqual([expect.stringContaining("ELOOP")]);
    rmSync(at);
    mkdirSync(at);
    expect(file.reader()(["stall"])).toEqual([]);
    expect(complaints).toHaveLength(2);
    rmdirSync(at);
    write(GOOD);
    expect(file.reader()(["stall"])).toHaveLength(1);
  });
});
