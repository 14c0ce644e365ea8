/** The thread that keeps the telemetry store. */
import { parentPort, workerData } from "node:worker_threads";
import { RemoteWriter } from "../metric-sources/remote-writer.ts";
import { TargetSchedule } from "../metric-sources/target-schedule.ts";
import { TelemetryDatabase } from "./telemetry-database.ts";
import type { TelemetryAnswer, TelemetryRequest, TelemetryThreadData } from "./telemetry-messages.ts";

const database = new TelemetryDatabase(workerData as TelemetryThreadData);
let writer: RemoteWriter | null = null;
const schedule = new TargetSchedule({
  record: (samples) => {
    database.addSubjects(samples);
    writer?.addSubjects(samples);
  },
  recordPast: (samples) => database.addPast(samples),
  completeUntilMs: database.completeUntilMs(),
  nowMs: () => Date.now(),
});

function answer(request: TelemetryRequest): Omit<TelemetryAnswer, "problems" | "bytes"> {
  switch (request.kind) {
    case "add":
      database.add(request.samples);
      return {};
    case "addSubjects":
      database.addSubjects(request.samples);
      writer?.addSubjects(request.samples);
      return {};
    case "readings":
      return { history: database.readings(request.request) };
    case "series":
      return { series: database.series(request.request, schedule.units) };
    case "flush":
      database.flush(request.nowMs, request.all);
      void writer?.flush();
      return { readings: schedule.takeReadings(), followed: schedule.takeFollowed() };
    case "read":
      return { page: database.read(request.request) };
    case "newest":
      return { newest: database.newest(request.attemptIds) };
    case "targets":
      schedule.set(request.plan);
      return {};
    case "targetStates":
      return { targets: schedule.states, remoteWrite: writer?.state ?? null };
    case "targetCounts":
      return { targetCounts: schedule.counts };
    case "write":
      return { write: schedule.write(request.body) };
    case "writeOtlp":
      return { write: schedule.writeOtlp(request.body) };
    case "export":
      writer = new RemoteWriter(request.target, () => Date.now());
      return {};
    case "exportText":
      writer?.addText(request.text, request.atMs, request.instance);
      return {};
    case "close":
      schedule.close();
      writer?.close();
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
