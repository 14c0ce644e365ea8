/** Durations, sizes, money and addresses as people write them in gateway.yaml. */
import { z } from "zod";

const durationUnits: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const sizeUnits: Readonly<Record<string, number>> = {
  B: 1,
  KiB: 2 ** 10,
  MiB: 2 ** 20,
  GiB: 2 ** 30,
  kB: 1e3,
  MB: 1e6,
  GB: 1e9,
};

function withUnits(units: Readonly<Record<string, number>>, message: string): z.ZodType<number> {
  return z.string({ error: message }).transform((text, context) => {
    const match = /^(\d{1,9}(?:\.\d{1,6})?)\s*([A-Za-z]+)$/.exec(text.trim());
    const unit = units[match?.[2] ?? ""];
    if (match === null || unit === undefined) {
      context.addIssue({ code: "custom", message });
      return z.NEVER;
    }
    return Math.round(Number(match[1]) * unit);
  });
}

const instantText = "must be a UTC time such as 2027-03-01 or 2027-03-01T12:00:00Z";

/** Durations such as `500ms`, `30s`, `5m` and `1h`. The result is in milliseconds. */
export const duration = withUnits(durationUnits, "must be a duration such as 500ms, 30s, 5m or 1h");
/** Sizes such as `64KiB` and `16MiB`. The result is in bytes. */
export const size = withUnits(sizeUnits, "must be a size such as 64KiB, 16MiB or 1GiB");

/** Times such as `2027-03-01` and `2027-03-01T12:00:00Z`, in UTC. The result is in milliseconds. */
export const instant = z.string({ error: instantText }).transform((text, context) => {
  const isWritten = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?Z)?$/.test(text.trim());
  const atMs = isWritten ? Date.parse(text.trim()) : Number.NaN;
  if (Number.isFinite(atMs)) return atMs;
  context.addIssue({ code: "custom", message: instantText });
  return z.NEVER;
});

export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

function parseAddress(text: string): ListenAddress | undefined {
  const match = /^(?:\[([0-9a-fA-F:]+)\]|([A-Za-z0-9.-]+)):(\d{1,5})$/.exec(text);
  if (match === null || Number(match[3]) > 65_535) return undefined;
  return { host: match[1] ?? match[2] ?? "", port: Number(match[3]) };
}

export const address = z.string().transform((text, context) => {
  const parsed = parseAddress(text);
  if (parsed !== undefined) return parsed;
  context.addIssue({
    code: "custom",
    message: "must be an address with its port, such as 127.0.0.1:8080 or [::1]:8080",
  });
  return z.NEVER;
});

/** A budget such as `40 USD/month`. */
export const budget = z.string().transform((text, context) => {
  const match = /^(\d{1,12}(?:\.\d{1,6})?)\s*USD\s*\/\s*(day|month)$/.exec(text.trim());
  if (match === null) {
    context.addIssue({
      code: "custom",
      message: "must be an amount and a period, such as 40 USD/day or 900 USD/month",
    });
    return z.NEVER;
  }
  return {
    nanoUsd: Math.round(Number(match[1]) * 1e9),
    period: match[2] === "day" ? ("day" as const) : ("month" as const),
  };
});

export interface UpstreamUrl {
  readonly isTls: boolean;
  readonly host: string;
  readonly port: number;
  /** The path in front of `/v1`, without a slash at its end. */
  readonly basePath: string;
  readonly text: string;
}

/**
 * URLs such as `http://10.0.0.7:8000` and `https://api.example.com/v1`. A `/v1` at the end is dropped, because every
 * request's path begins with it.
 */
export const upstreamUrl = z.string().transform((text, context): UpstreamUrl => {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isHttp = url?.protocol === "http:" || url?.protocol === "https:";
  if (url === undefined || !isHttp || url.username !== "" || url.search !== "" || url.hash !== "") {
    context.addIssue({ code: "custom", message: "must be an http or https URL without user, query or fragment" });
    return z.NEVER;
  }
  const isTls = url.protocol === "https:";
  return {
    isTls,
    host: url.hostname.replace(/^\[|\]$/g, ""),
    port: url.port === "" ? (isTls ? 443 : 80) : Number(url.port),
    basePath: url.pathname.replace(/\/+$/, "").replace(/\/v1$/, ""),
    text,
  };
});
