import { existsSync } from "node:fs";
import path from "node:path";
import type { Chapter } from "../chapter.ts";
import { newestCheckpoint } from "../../../packages/cli/test/quickstart-run.ts";
import { quickstartCheckpoints } from "../quickstart.ts";

/** Time limit of the first hour: a checkpoint within 90 s of the start, after the installation. */
const CHECKPOINT_WITHIN_MS = 90_000;

export const start: Chapter = {
  name: "start",
  shows: "npm start brings up a control plane, and two workers train a language model at once.",
  needs: [],
  async run(stage) {
    const startedAtMs = performance.now();
    await stage.start();
    stage.holds("the token is in the state directory", existsSync(path.join(stage.home, "token")));
    const status = await stage.request("GET", "/v1/status");
    const stranger = await stage.request("GET", "/v1/status", undefined, { authorization: "" });
    stage.equal("the API answers with the token, and refuses without it", [status.status, stranger.status], [200, 401]);

    await stage.headroom("list");
    const { phase, nodes } = await stage.until("the quickstart runs", async () => {
      const shown = await stage.json<{ phase: string; nodes: string[] }>("show", "quickstart");
      return shown.phase === "running" ? shown : null;
    });
    stage.equal("the quickstart runs", [phase, nodes.length], ["running", 1]);
    const directory = await quickstartCheckpoints(stage);
    const step = await stage.until(
      "the first checkpoint",
      async () => newestCheckpoint(directory) || null,
      CHECKPOINT_WITHIN_MS,
    );
    const tookMs = performance.now() - startedAtMs;
    stage.note(`first checkpoint: step ${step}, ${(tookMs / 1000).toFixed(1)} s after npm start`);
    stage.holds("the first checkpoint is there within 90 s", tookMs < CHECKPOINT_WITHIN_MS, tookMs);
  },
};
