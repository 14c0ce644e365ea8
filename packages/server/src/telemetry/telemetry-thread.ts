/** The thread that keeps the telemetry store. */
import { parentPort, workerData } from "node:worker_threads";
import { TargetSchedule } from "../metric-sources/target-schedule.ts";
import { TelemetryDatabase } from "./telemetry-database.ts";
import type { TelemetryAnswer, TelemetryRequest, TelemetryThreadData } from "./telemetry-messages.ts";

const database = new TelemetryDatabase(workerData as TelemetryThreadData);
const schedule = new TargetSchedule({
  record: (samples) => database.addSubjects(samples),
  nowMs: () => Date.now(),
});

function answer(request: TelemetryRequest): Omit<TelemetryAnswer, "problems" | "bytes"> {
  switch (request.kind) {
    case "add":
      database.add(request.samples);
      return {};
    case "addSubjects":
      database.addSubjects(request.samples);
      return {};
    case "readings":
      return { history: database.readings(request.request) };
    case "series":
      return { series: database.series(request.request) };
    case "flush":
      database.flush(request.nowMs, request.all);
      return { readings: schedule.takeReadings() };
    case "read":
      return { page: database.read(request.request) };
    case "newest":
      return { newest: database.newest(request.attemptIds) };
    case "targets":
      schedule.set(request.plan);
      return {};
    case "targetStates":
      return { targets: schedule.states };
    case "close":
      schedule.close();
      database.close();
      return {};
  }
}

parentPort?.on("message", (request: TelemetryRequest) => {
  const answered = answer(request);
  const bytes = request.kind === "flush" ? database.bytes() : 0;
  const said: TelemetryAnswer = { ...answered, problems: database.takeProblems(), bytes };
  parentPort?.postMessage(said);
  if (request.kind === "close") parentPort?.close();
});
