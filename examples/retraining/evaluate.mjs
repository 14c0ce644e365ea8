// Measures a model on text that it was not trained on, in nats a byte, and reports the result `loss`. See README.md.
import { appendFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createBuiltinEngine } from "../serving/builtin-engine.mjs";
import { lossOn } from "./loss.mjs";

const { HEADROOM_ARTIFACT_MODEL_QUICKSTART: model, HEADROOM_PROGRESS_FILE: progressFile } = process.env;
const { EVALUATION_TEXT: file = join(import.meta.dirname, "evaluation.txt") } = process.env;

const engine = await createBuiltinEngine(model, 1);
const loss = await lossOn(engine, readFileSync(file));
console.log(`${loss.toFixed(3)} nats a byte`);
const report = { kind: "artifact", name: "loss", path: `data:,${loss.toFixed(3)}` };
if (progressFile) appendFileSync(progressFile, `${JSON.stringify(report)}\n`);
