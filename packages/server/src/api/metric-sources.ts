/** Declared metric sources and their targets. */
import { readMetricSource } from "@headroom/metrics";
import { PAGE_ITEMS_DEFAULT, refuse } from "@headroom/protocol";
import type {
  MetricSource,
  MetricSourceDeclared,
  MetricSourceList,
  MetricSourceRemoved,
  MetricTarget,
  MetricTargetPage,
} from "@headroom/protocol";
import { sourceDocument } from "../metric-sources/metric-source-service.ts";
import type { RemoteWriteState } from "../metric-sources/remote-writer.ts";
import type { TargetState } from "../metric-sources/target-messages.ts";
import type { Call } from "./calls.ts";
import type { ControlPlane } from "./control-plane.ts";

/** Each source has a mapping of its own; a fleet has a few. */
const SOURCES_MAX = 100;
const stateOrder = ["refused", "silent", "waiting", "up"] as const;

async function metricSources({ metricSourceService: service }: ControlPlane): Promise<MetricSourceList> {
  const targets = await targetsOf(service);
  const { remoteWrite } = await service.states();
  return {
    remoteWrite: remoteWrite === null ? null : writeView(remoteWrite),
    items: service.list().map((declaration): MetricSource => {
      const { kind: _kind, name, type, ...settings } = sourceDocument(declaration);
      const own = targets.filter(({ source }) => source === name);
      const number = (...states: readonly MetricTarget["state"][]): number =>
        own.filter(({ state }) => states.includes(state)).length;
      return {
        name: String(name),
        type: type as MetricSource["type"],
        settings,
        up: number("up"),
        silent: number("silent", "refused"),
        waiting: number("waiting"),
        problem: service.problemOf(String(name)),
      };
    }),
  };
}

async function metricTargets(
  { metricSourceService: service }: ControlPlane,
  { query: { source, state, cursor, limit = PAGE_ITEMS_DEFAULT } }: Call<"metricTargets">,
): Promise<MetricTargetPage> {
  const chosen = (await targetsOf(service)).filter(
    (each) => (source === undefined || each.source === source) && (state === undefined || each.state === state),
  );
  const from = cursor === undefined ? 0 : /^\d{1,9}$/.test(cursor) ? Number(cursor) : -1;
  if (from < 0) throw refuse("invalidRequest", "The cursor is none of an earlier page.");
  const items = chosen.slice(from, from + limit);
  return { items, nextCursor: from + limit < chosen.length ? String(from + limit) : null };
}

async function targetsOf(service: ControlPlane["metricSourceService"]): Promise<MetricTarget[]> {
  const refused = service.refused.map(({ source, subject, problem }): MetricTarget => ({
    source,
    target: subject,
    subject: null,
    state: "refused",
    sinceMs: null,
    readAtMs: null,
    durationMs: null,
    samples: 0,
    values: 0,
    problem,
  }));
  const read = service.list().length === 0 ? [] : (await service.states()).targets.map(targetView);
  return [...refused, ...read].toSorted(
    (left, right) => stateOrder.indexOf(left.state) - stateOrder.indexOf(right.state),
  );
}

const writeView = ({ sentCount, droppedCount, queuedCount, ...state }: RemoteWriteState) => ({
  ...state,
  sent: sentCount,
  dropped: droppedCount,
  queued: queuedCount,
});

function targetView({ target, ...state }: TargetState): MetricTarget {
  const { node, endpoint, query } = target;
  return {
    source: target.source,
    target: query === null ? target.url : query.value,
    subject: node === null ? (endpoint === null ? null : `endpoint:${endpoint}`) : `node:${node}`,
    state: state.state,
    sinceMs: state.sinceMs,
    readAtMs: state.readAtMs,
    durationMs: state.durationMs,
    samples: state.sampleCount,
    values: state.valueCount,
    problem: state.problem,
  };
}

async function declareMetricSource(
  { metricSourceService: service, log }: ControlPlane,
  call: Call<"declareMetricSource">,
): Promise<MetricSourceDeclared> {
  const { name } = call.params;
  const { type, settings } = call.body;
  const reading = readMetricSource({ kind: "metricSource", name, type, ...settings });
  if (!reading.ok) {
    const errors = reading.problems.map(({ path, message }) => ({ pointer: `/${path.join("/")}`, message }));
    const text = errors.map(({ pointer, message }) => `${pointer}: ${message}`).join("; ");
    throw refuse("invalidRequest", `The declaration of the metric source is not valid. ${text}.`, { errors });
  }
  const others = service.list().filter((each) => each.name !== name);
  if (others.length >= SOURCES_MAX)
    throw refuse("tooManyMetricSources", `${others.length} sources are declared, and ${SOURCES_MAX} are possible.`);
  const writer = others.find((each) => each.type === "remote-write");
  if (type === "remote-write" && writer !== undefined)
    throw refuse("metricSourceConflict", `The source ${writer.name} takes what is written already: remove it first.`);
  const action = await service.declare(reading.declaration);
  log.info(`The metric source ${name} is ${action} by ${call.actor ?? "an unknown user"}.`);
  return { name, action };
}

async function removeMetricSource(
  { metricSourceService: service, log }: ControlPlane,
  call: Call<"removeMetricSource">,
): Promise<MetricSourceRemoved> {
  const { name } = call.params;
  if (!(await service.remove(name)))
    throw refuse("unknownMetricSource", `No metric source ${name} is declared. List them: headroom metric-source list`);
  log.info(`The metric source ${name} is removed by ${call.actor ?? "an unknown user"}.`);
  return { name };
}

export const metricSourceHandlers = { metricSources, metricTargets, declareMetricSource, removeMetricSource };
