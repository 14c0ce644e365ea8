import { describe, expect, it } from "vitest";
import { commandNames } from "./commands/index.ts";
import { commandFor } from "./commands-elsewhere.ts";
import { headroom } from "./testing/recorded-terminal.ts";

const names = new Set(commandNames);

describe("a command of another system", () => {
  it.each([
    ["squeue", "headroom list"],
    ["scancel", "headroom stop WORKLOAD"],
    ["submit", "headroom apply -f FILE"],
    ["describe", "headroom show WORKLOAD"],
  ])("%s is answered with the command here", async (name, command) => {
    const said = await headroom([name, "x"], { workingDirectory: "/" });
    expect([said.code, said.stdout]).toEqual([2, ""]);
    expect(said.stderr).toContain(`unknown command '${name}'`);
    expect(said.stderr).toContain(`In Headroom it is: ${command}\n`);
    expect(names).toContain(commandFor(name)?.split(" ")[0]);
  });

  it("gets no such answer if no command here is like it", async () => {
    const said = await headroom(["constructor"], { workingDirectory: "/" });
    expect([said.code, said.stderr]).toEqual([2, expect.not.stringContaining("In Headroom")]);
  });
});

describe("a subcommand that does not exist", () => {
  it("is answered with those that do", async () => {
    const said = await headroom(["incident", "close", "i1"], { workingDirectory: "/" });
    expect([said.code, said.stderr]).toEqual([
      2,
      "error: headroom incident has no command close. Its commands: list, show, acknowledge, silence, resolve, note\n",
    ]);
    // The command of this group takes a file.
    const { stderr } = await headroom(["drift", "profiles.jsonl"], { workingDirectory: "/" });
    expect(stderr).toContain("profiles.jsonl: there is no such file");
  });
});
