import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
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
});
