/** Broken gateway.yaml files: each problem has the line and column at which to mend it. */
import { describe, expect, it } from "vitest";
import { loadConfig } from "./load.ts";

const pools = 'pools: [{ name: p, replicas: ["http://127.0.0.1:9"] }]\n';
const models = "models: [{ name: m, pools: [p] }]\n";
const sha = "0".repeat(64);

const problemsOf = (text: string): readonly string[] => {
  const loaded = loadConfig(text);
  return "problems" in loaded ? loaded.problems.map(({ line, column, message }) => `${line}:${column} ${message}`) : [];
};

describe("problems of gateway.yaml", () => {
  it.each([
    [
      "an unknown engine",
      `access: open\npools:\n  - name: p\n    engine: vlm\n    replicas: ["http://127.0.0.1:9"]\n${models}`,
      ["4:13 pools[0].engine must be one of openai, anthropic, vllm, sglang, llamacpp, trtllm, triton, headroom"],
    ],
    [
      "an address without a scheme",
      `access: open\npools:\n  - name: p\n    replicas: ["127.0.0.1:9"]\n${models}`,
      ["4:16 pools[0].replicas[0] must be an http or https URL without user, query or fragment"],
    ],
    [
      "YAML that is not valid",
      `access: open\npools: p: q\n${models}`,
      [expect.stringMatching(/^2:8 the file is not valid YAML: /) as string],
    ],
    [
      "a pool that is not defined",
      `access: open\n${pools}models:\n  - name: m\n    pools: [q]\n`,
      ["5:13 models[0].pools[0] names the pool q, which is not defined"],
    ],
    [
      "a hash that is none, and a limit of zero",
      `teams:\n  - name: a\n    keys: [{ sha256: abc }]\n    tokensPerMinute: 0\n${pools}${models}`,
      [
        "3:22 teams[0].keys[0].sha256 must be the SHA-256 of the key in 64 lower-case hex digits (headroom gateway --new-key)",
        "4:22 teams[0].tokensPerMinute must be at least 1",
      ],
    ],
    [
      "a size and a duration without units",
      `access: open\nbounds: { answer: 10, headTimeout: 5 minutes }\n${pools}${models}`,
      [
        "2:19 bounds.answer must be a size such as 64KiB, 16MiB or 1GiB",
        "2:36 bounds.headTimeout must be a duration such as 500ms, 30s, 5m or 1h",
      ],
    ],
    [
      "a wake command without a program, and a variable that is none",
      `access: open\npools:\n  - name: p\n    wake: { command: [], env: ["A-B"] }\n${models}`,
      [
        "4:22 pools[0].wake.command must have at least 1 entry",
        "4:32 pools[0].wake.env[0] must be the name of an environment variable",
      ],
    ],
    [
      "regions without a replica, or beyond the team's",
      `access: open\nteams:\n  - name: a\n    allowedRegions: [eu]\n    keys: [{ sha256: "${sha}", allowedRegions: [us] }]\n` +
        `pools: [{ name: p, region: us, replicas: ["http://127.0.0.1:9"] }]\n${models}`,
      [
        "4:22 teams[0].allowedRegions[0] names eu, a region of no pool and no replica",
        "5:107 teams[0].keys[0].allowedRegions[0] names us, which the team's allowedRegions do not have",
      ],
    ],
    [
      "a misspelt field, and a price below zero",
      `access: open\npools: [{ name: p, replicas: ["http://127.0.0.1:9"], hedgeAftr: 5s }]\nmodels: [{ name: m, pools: [p], price: { input: -1 } }]\n`,
      ["2:54 pools[0].hedgeAftr is not a field of gateway.yaml", "3:49 models[0].price.input must be at least 0"],
    ],
    ["a field that is given twice", `access: open\n${pools}${models}${models}`, ["4:1 the field is given twice"]],
    [
      "a secret in the file",
      `access: open\npools: [{ name: p, replicas: ["http://127.0.0.1:9"], key: abc }]\n${models}`,
      ["2:59 pools[0].key must be { env: NAME } or { file: PATH }: secrets are not written into this file"],
    ],
    [
      "a collector that is no URL",
      `access: open\n${pools}${models}tracing: { endpoint: nowhere }\n`,
      ["4:22 tracing.endpoint must be an http or https URL, such as http://127.0.0.1:4318"],
    ],
    ["a list", "- a\n- b\n", ["1:1 the file must have fields, such as `pools:` and `models:`"]],
    ["a text", "pools", ["1:1 the file must have fields, such as `pools:` and `models:`"]],
    ["nothing", "", ["1:1 the file is empty; give at least `pools` and `models`"]],
  ])("name the place of %s", (_, text, problems) => {
    expect(problemsOf(text)).toEqual(problems);
  });
});
