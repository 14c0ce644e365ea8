import { describe, expect, it } from "vitest";
import { blankManifest, fieldText, readManifest, withField, withKind, type Manifest } from "./manifest-form.ts";

const manifest: Manifest = {
  kind: "train",
  name: "llama-ft",
  run: "torchrun train.py",
  gang: { workers: 4, accelerators: 8, cores: 4 },
  selector: { zone: "a" },
};

describe("the form of a manifest", () => {
  it("writes one key for each field and keeps keys that it does not show", () => {
    const changed = withField(withField(manifest, "walltime", "90m"), "workers", "2");
    expect(changed).toEqual({ ...manifest, gang: { ...(manifest["gang"] as object), workers: 2 }, walltime: "90m" });
    expect(withField(changed, "walltime", "")).not.toHaveProperty("walltime");
    expect(fieldText(changed, "workers")).toBe("2");
    expect(fieldText(changed, "memory")).toBe("");
  });

  it("becomes a specification", () => {
    const reading = readManifest(
      withField({ ...manifest, gang: { workers: 4, accelerators: 8 } }, "walltime", "90m"),
      null,
    );
    expect(reading.kind === "ready" ? reading.spec : null).toMatchObject({
      run: "torchrun train.py",
      gang: { workers: 4, accelerators: 8 },
      walltimeMs: 5_400_000,
    });
    const inDemo = readManifest({ ...blankManifest, name: "a" }, "45");
    expect(inDemo.kind === "ready" ? inDemo.spec.env : null).toEqual({ SIMULATED_DURATION_S: "2700" });
  });

  it("lists accelerator types in order of preference, and says that the workload waits for them", () => {
    const typed = withField(withField(manifest, "acceleratorType", "H200, H100,"), "waitForType", "true");
    expect(typed).toMatchObject({ accelerator: ["H200", "H100"], waitForType: true });
    expect([fieldText(typed, "acceleratorType"), fieldText(typed, "waitForType")]).toEqual(["H200, H100", "true"]);
    const reading = readManifest(typed, null);
    expect(reading.kind === "ready" ? reading.spec : null).toMatchObject({
      acceleratorTypes: ["H200", "H100"],
      waitForType: true,
    });
    expect(withField(typed, "acceleratorType", "H100")).toMatchObject({ accelerator: "H100" });
    const cleared = withField(withField(typed, "acceleratorType", " ,"), "waitForType", "");
    expect(Object.keys(cleared)).not.toEqual(expect.arrayContaining(["accelerator"]));
    expect(Object.keys(cleared)).not.toEqual(expect.arrayContaining(["waitForType"]));
  });

  it("says at each field what is wrong with it, and lists what no field shows", () => {
    const wrong = (field: Parameters<typeof withField>[1], text: string): readonly string[] => {
      const reading = readManifest(withField({ ...blankManifest, name: "a", run: "b" }, field, text), null);
      return reading.kind === "wrong" ? Object.keys(reading.errors) : [];
    };
    expect(wrong("name", "no spaces please")).toEqual(["name"]);
    expect(wrong("workers", "0")).toEqual(["workers"]);
    expect(wrong("walltime", "soon")).toEqual(["walltime"]);
    expect(wrong("memory", "much")).toEqual(["memory"]);
    const blank = readManifest(blankManifest, null);
    expect(blank.kind === "wrong" ? blank.errors : {}).toEqual({ name: "is required", run: "is required" });
    const reading = readManifest({ ...manifest, colour: "red" }, null);
    expect(reading.kind === "wrong" ? reading.others.join() : "").toMatch(/^colour: /);
  });

  it("changes between one gang and an array", () => {
    expect(withKind(manifest, "batch")).toMatchObject({ kind: "batch", tasks: 10, name: "llama-ft" });
    expect(withKind(withKind(manifest, "batch"), "train")).not.toHaveProperty("tasks");
  });
});
