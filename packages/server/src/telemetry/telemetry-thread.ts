/** The thread that keeps the telemetry store. */
import { parentPort, workerData } from "node:worker_threads";
import { peerDeviations, type PeerMeans } from "@headroom/health";
import { mappedUnits } from "@headroom/metrics";
import { listedDeviations } from "./peer-comparison.ts";
import { RecentMeans } from "./recent-means.ts";
import { RemoteWriter } from "../metric-sources/remote-writer.ts";
import { TargetSchedule } from "../metric-sources/target-schedule.ts";
import { TelemetryDatabase } from "./telemetry-database.ts";
import type { PeerComparison, TelemetryAnswer, TelemetryRequest, TelemetryThreadData } from "./telemetry-messages.ts";

const database = new TelemetryDatabase(workerData as TelemetryThreadData);
let writer: RemoteWriter | null = null;
const means = new RecentMeans();
const schedule = new TargetSchedule({
  record: (samples) => {
    database.addSubjects(samples);
    means.add(samples);
    writer?.addSubjects(samples);
  },
  recordPast: (samples) => database.addPast(samples),
  completeUntilMs: database.completeUntilMs(Date.now()),
  nowMs: () => Date.now(),
});

function answer(request: TelemetryRequest): Omit<TelemetryAnswer, "problems" | "bytes"> {
  switch (request.kind) {
    case "add":
      database.add(request.samples);
      return {};
    case "addSubjects":
      database.addSubjects(request.samples);
      means.add(request.samples);
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
    case "peers":
      return { peers: comparePeers(request.sets, request.nowMs) };
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

function comparePeers(sets: ReadonlyMap<string, string>, nowMs: number): PeerComparison {
  means.trim(nowMs);
  const subjects: PeerMeans[] = [];
  for (const { subject, values } of means.fresh(nowMs)) {
    const [kind = "", node = ""] = /^(accelerator|node):(.*?)(?:#\d+)?$/.exec(subject)?.slice(1) ?? [];
    const set = sets.get(node);
    if (set !== undefined) subjects.push({ subject, set: `${kind} ${set}`, values });
  }
  const listed = listedDeviations(peerDeviations(subjects));
  const units = { ...schedule.units, ...mappedUnits };
  const named = [...new Set(listed.deviations.map(({ metric }) => metric))];
  return {
    comparedCount: subjects.length,
    ...listed,
    units: Object.fromEntries(named.map((metric) => [metric, units[metric] ?? ""])),
  };
}

parentPort?.on("message", (request: TelemetryRequest) => {
  const answered = answer(request);
  const bytes = request.kind === "flush" ? database.bytes() : 0;
  const said: TelemetryAnswer = { ...answered, problems: database.takeProblems(), bytes };
  parentPort?.postMessage(said);
  if (request.kind === "close") parentPort?.close();
});
