import { describe, expect, it } from "vitest";
import { capturedEnvironment, environmentLine, looksSecret } from "./captured-environment.ts";

const env = {
  PATH: "/venv/bin:/repo/node_modules/.bin:/usr/bin",
  VIRTUAL_ENV: "/venv",
  CONDA_PREFIX: "/conda/envs/a",
  LOADEDMODULES: "gcc/13:cuda/12",
  OMP_NUM_THREADS: "8",
  HF_TOKEN: "hf_abcdefghijklmnop",
  DATABASE_URL: "postgres://ada:secret@db/x",
  SSH_AUTH_SOCK: "/tmp/agent",
  PWD: "/home/ada",
  RANK: "3",
};
const canSet = (name: string): boolean => name !== "RANK";

describe("the submitter's environment", () => {
  it("is by default search paths, virtual environments, conda and modules", () => {
    const captured = capturedEnvironment(env, { mode: "tools", names: [] }, canSet);
    expect(captured).toEqual({
      variables: {
        PATH: "/venv/bin:/usr/bin",
        VIRTUAL_ENV: "/venv",
        CONDA_PREFIX: "/conda/envs/a",
        LOADEDMODULES: "gcc/13:cuda/12",
      },
      secrets: [],
      refused: [],
    });
    expect(environmentLine(captured)).toBe(
      "environment: CONDA_PREFIX, LOADEDMODULES, PATH, VIRTUAL_ENV (/venv). Change it with --env none, all, NAME or NAME=VALUE.",
    );
  });

  it("with all lacks secrets, the session and what Headroom sets, and lists what is missing", () => {
    const captured = capturedEnvironment(env, { mode: "all", names: [] }, canSet);
    expect(Object.keys(captured.variables)).toEqual([
      "CONDA_PREFIX",
      "LOADEDMODULES",
      "OMP_NUM_THREADS",
      "PATH",
      "VIRTUAL_ENV",
    ]);
    expect([captured.secrets, captured.refused]).toEqual([["DATABASE_URL", "HF_TOKEN"], ["RANK"]]);
    expect(environmentLine(captured)).toContain("left out as secrets: DATABASE_URL, HF_TOKEN; cannot be set: RANK.");
  });

  it("with none has only the names that the user states, secrets among them", () => {
    const { variables } = capturedEnvironment(env, { mode: "none", names: ["HF_TOKEN"] }, canSet);
    expect(variables).toEqual({ HF_TOKEN: "hf_abcdefghijklmnop" });
  });

  it.each([
    ["WANDB_API_KEY", "x"],
    ["MY_PASSWORD", "x"],
    ["AWS_SECRET_ACCESS_KEY", "x"],
    ["GITHUB_PAT", "x"],
    ["PLAIN", "ghp_0123456789abcdef"],
    ["PLAIN", "eyJhbGciOi.eyJzdWIiOi.x"],
    ["PLAIN", "0123456789abcdef0123456789abcdef01234567"],
    ["PLAIN", "kJ8sL2mN9pQ4rT6vW1xY3zA5bC7dE0fG"],
    ["PLAIN", "https://user:pw@example.org"],
    ["PLAIN", "Bearer abcdefghijk"],
  ])("takes %s=%s for a secret", (name, value) => {
    expect(looksSecret(name, value)).toBe(true);
  });

  it.each([
    ["OMP_NUM_THREADS", "8"],
    ["PYTHONPATH", "/srv/ada/Project1/src:/srv/ada/lib/python3.11/site-packages"],
    ["KEYBOARD", "us"],
    ["MONKEY", "1"],
    ["CUDA_HOME", "/usr/local/cuda-12.4"],
    ["DATA", "s3://corpus/v7"],
  ])("does not take %s=%s for a secret", (name, value) => {
    expect(looksSecret(name, value)).toBe(false);
  });
});
